"""Multi-layer perceptrons, from the profiling study's small one to TabLeak's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

from torch import nn

from seepage._core import InputError, unknown_name

Activation = Literal["relu", "gelu", "tanh", "sigmoid", "leaky_relu"]
Norm = Literal["none", "batch", "layer"]
FirstWeights = Literal["torch", "xavier"]

_ACTIVATIONS: dict[str, Callable[[], nn.Module]] = {
    "relu": nn.ReLU,
    "gelu": nn.GELU,
    "tanh": nn.Tanh,
    "sigmoid": nn.Sigmoid,
    "leaky_relu": lambda: nn.LeakyReLU(0.1),
}
_NORMS: dict[str, Callable[[int], nn.Module]] = {
    "none": lambda width: nn.Identity(),
    "batch": nn.BatchNorm1d,
    "layer": nn.LayerNorm,
}


@dataclass(frozen=True, kw_only=True)
class MLP:
    """``depth`` hidden layers of ``width``: linear, norm, activation, dropout; then a linear output.

    The defaults are the profiling study's small MLP: 2 x 32, LayerNorm, GELU, no dropout.

    Args:
        width, depth: of the hidden layers.
        activation: ``relu``, ``gelu``, ``tanh``, ``sigmoid`` or ``leaky_relu``.
        norm: ``layer``, ``batch`` or ``none``.
        dropout: rate after each activation.
        start: how first weights are drawn: ``torch`` (its default, with random biases) or ``xavier`` (uniform by
            Glorot and Bengio, with zero biases), which the profiling study's public code uses.
        binary_outputs: 1 for a logit, 2 for two softmax classes (TabLeak's net).
    """

    width: int = 32
    depth: int = 2
    activation: Activation = "gelu"
    norm: Norm = "layer"
    dropout: float = 0.0
    start: FirstWeights = "torch"
    binary_outputs: int = 1

    def __post_init__(self) -> None:
        if self.activation not in _ACTIVATIONS:
            raise unknown_name("activation", self.activation, get_args(Activation))
        if self.norm not in _NORMS:
            raise unknown_name("norm", self.norm, get_args(Norm))
        if self.start not in get_args(FirstWeights):
            raise unknown_name("start", self.start, get_args(FirstWeights))
        if self.width < 1 or self.depth < 1 or not 0 <= self.dropout < 1:
            raise InputError(
                f"An MLP of width {self.width}, depth {self.depth}, dropout {self.dropout} cannot be built; "
                "width and depth are at least 1, dropout is in [0, 1)."
            )

    encoding: ClassVar[Literal["onehot", "ordinal"]] = "onehot"

    def build(self, numeric: int, sizes: tuple[int, ...], outputs: int) -> nn.Module:
        """The net for inputs of this layout."""
        layers: list[nn.Module] = []
        inputs = numeric + sum(sizes)
        for _ in range(self.depth):
            layers += [
                nn.Linear(inputs, self.width),
                _NORMS[self.norm](self.width),
                _ACTIVATIONS[self.activation](),
            ]
            layers += [nn.Dropout(self.dropout)] if self.dropout else []
            inputs = self.width
        layers.append(nn.Linear(inputs, outputs))
        if self.start == "xavier":
            for layer in layers:
                _draw_xavier(layer)
        return nn.Sequential(*(layer for layer in layers if not isinstance(layer, nn.Identity)))


def _draw_xavier(layer: nn.Module) -> None:
    if isinstance(layer, nn.Linear):
        nn.init.xavier_uniform_(layer.weight)
        nn.init.zeros_(layer.bias)


def small_mlp() -> MLP:
    """The profiling study's small MLP.

    References:
        Nilsson et al., Profiling privacy preservation, 2026 (the profiling study).

    Example:
        >>> small_mlp().width
        32
    """
    return MLP()


def tableak_mlp() -> MLP:
    """TabLeak's net: 100-100, ReLU, two output classes.

    References:
        Vero et al., Data Leakage in Tabular Federated Learning (TabLeak).

    Example:
        >>> tableak_mlp().binary_outputs
        2
    """
    return MLP(width=100, depth=2, activation="relu", norm="none", binary_outputs=2)
