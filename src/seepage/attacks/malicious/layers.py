"""The layers of a model that a cheating server can aim at: fully connected ones with ReLU between them."""

from __future__ import annotations

from dataclasses import dataclass

from torch import nn

from seepage._core import NotApplicable
from seepage.models import Learner


@dataclass(frozen=True)
class Dense:
    """Names and widths of the linear layers, from the first to the output."""

    names: tuple[str, ...]
    widths: tuple[int, ...]  # inputs of each, then the outputs of the last

    @property
    def hidden(self) -> int:
        """How many hidden layers there are."""
        return len(self.names) - 1

    @property
    def outputs(self) -> int:
        """Of the last layer."""
        return self.widths[-1]


def dense_layers(learner: Learner) -> Dense:
    """The layers of a plain ReLU network, or why the model is none.

    Example:
        >>> from seepage.models import MLP, make_learner
        >>> net = MLP(width=8, activation="relu", norm="none")
        >>> dense_layers(make_learner(net, 2, (3,), "binary", 2, seed=0)).widths
        (5, 8, 8, 1)
    """
    module = learner.module
    if learner.entry is not None or not isinstance(module, nn.Sequential):
        raise NotApplicable(
            f"The server's weights need fully connected layers with ReLU; this model is a {type(module).__name__}. "
            "The attack module needs no such layers."
        )
    for layer in module:
        if not isinstance(layer, nn.Linear | nn.ReLU):
            raise NotApplicable(
                f"The server's weights need linear layers with ReLU between them; this model has a "
                f"{type(layer).__name__}, which does not let a single neuron cut the data (try norm=none, "
                "activation=relu, dropout=0). The attack module needs no such layers."
            )
    linear = [(name, layer) for name, layer in module.named_children() if isinstance(layer, nn.Linear)]
    if len(linear) < 2 or any(layer.bias is None for _, layer in linear):
        raise NotApplicable("The server's weights need at least one hidden layer, and a bias in every layer.")
    if learner.positive_weight != 1 and linear[-1][1].out_features > 1:
        raise NotApplicable("The loss weighs the classes, so a row's share of the update depends on other rows.")
    widths = (*(layer.in_features for _, layer in linear), linear[-1][1].out_features)
    return Dense(tuple(name for name, _ in linear), widths)
