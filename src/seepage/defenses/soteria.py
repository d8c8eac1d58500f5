"""Soteria: the layer that answers from the representation keeps a part of its gradient to itself."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.func import jacrev, vmap

from seepage._core import InputError
from seepage.defenses.computing import check_rows_apart, client_gradients
from seepage.defenses.defense import Defense, Gradients
from seepage.models import Learner, Parameters, layer_inputs, linear_calls, parameter_name
from seepage.observation import Channel


@dataclass(frozen=True, kw_only=True)
class Soteria(Defense):
    r"""Prunes the gradient of the last linear layer at the entries of the representation that tell most of the inputs.

    With the representation :math:`r(x)` that the last layer takes in, entries are ranked by
    :math:`\sum_x \lVert \partial r_j / \partial x \rVert / |r_j|`; the columns of the layer's gradient that belong to
    this share of them, the least, are sent as zero.

    NOTE[DIFF] the authors defend a layer in the middle of a convolutional net and rank row by row; here it is the last
    linear layer of any model whose layers see each row once, and a batch is ranked together.

    Guarantees:
        None. The other layers are sent as they are.

    Args:
        share: of the representation's entries, from 0 to below 1.

    Example:
        >>> Soteria(share=0.4).share
        0.4

    References:
        Sun et al., Soteria: Provable Defense Against Privacy Leakage in Federated Learning from Representation
        Perspective, CVPR 2021; Balunovic et al., Bayesian Framework for Gradient Leakage, ICLR 2022, show how to
        attack it: leave the layer out.
    """

    share: float = 0.4

    def __post_init__(self) -> None:
        if not 0 <= self.share < 1:
            raise InputError(f"The share of the representation is {self.share}; it must be from 0 to below 1.")

    def channel(self) -> Channel:
        """A zero says nothing."""
        return Channel(missing="zeros")

    def gradients(self, learner: Learner) -> Gradients:
        """The plain gradient with columns of the last layer set to zero."""
        check_rows_apart(learner, "Soteria")
        plain = client_gradients(learner, learner.loss)

        def pruned(parameters: Parameters, x: Tensor, y: Tensor, random: torch.Generator) -> Parameters:
            name = _last_layer(learner, x.shape[-1])
            found = dict(plain(parameters, x, y))
            weight = parameter_name(name, "weight")
            ranks = torch.stack(
                [self._told(learner, name, {n: v[i] for n, v in parameters.items()}, x[i]) for i in range(len(x))]
            )
            silent = math.floor(self.share * ranks.shape[1] + 1e-9)
            places = ranks.argsort(1)[:, :silent]
            kept = torch.ones_like(ranks).scatter(1, places, 0.0)
            found[weight] = found[weight] * kept[:, None]
            return found

        return pruned

    def _told(self, learner: Learner, name: str, parameters: Parameters, x: Tensor) -> Tensor:
        """(entries,) how much of a client's rows each entry of the representation tells."""

        def representation(row: Tensor) -> Tensor:
            return layer_inputs(learner, [name], parameters, row[None])[0][0]

        slopes = vmap(jacrev(representation))(x)  # (rows, entries, width)
        size = vmap(representation)(x).abs().clamp(min=1e-12)
        told: Tensor = (slopes.norm(dim=-1) / size).sum(0)
        return told


def _last_layer(learner: Learner, width: int) -> str:
    calls = linear_calls(learner, width)
    names = [name for name, each in calls.items() if each == [1]]
    if not names or not learner.vectorised:
        raise InputError("Soteria prunes the last linear layer of a model that sees each row once; there is none here.")
    return names[-1]
