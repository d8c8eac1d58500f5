"""All weights in a row: as they are, or with neurons sorted first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from seepage.attacks.properties.readers.reader import Parts, Standard, check
from seepage.models.stack import Stack


@dataclass(frozen=True, kw_only=True)
class Sorted:
    """All weights in a row, hidden neurons sorted by the sum of their incoming weights (Ganju et al. 2018).

    References:
        Ganju et al., Property Inference Attacks on Fully Connected Neural Networks, CCS 2018 (the sorting baseline).

    Example:
        >>> Sorted(hidden=16).hidden
        16
    """

    hidden: int = 64
    dropout: float = 0.5

    def __post_init__(self) -> None:
        check((self.hidden,), self.dropout)

    def parts(self, stack: Stack) -> Parts:
        weights, biases = list(stack.weights), list(stack.biases)
        for layer in range(len(weights) - 1):  # the outputs have an order of their own
            order = weights[layer].sum(2).argsort(1)  # (models, out)
            weights[layer] = weights[layer].take_along_dim(order[:, :, None], 1)
            biases[layer] = biases[layer].take_along_dim(order, 1)
            weights[layer + 1] = weights[layer + 1].take_along_dim(order[:, None, :], 2)
        return (flattened(weights, biases),)

    def network(self, parts: Parts) -> nn.Module:
        return in_a_row(parts[0], self.hidden, self.dropout)


@dataclass(frozen=True, kw_only=True)
class Flat:
    """All weights in a row, as they come: one function has as many rows as its neurons have orders.

    References:
        Ateniese et al., Hacking smart machines with smarter ones, 2015 (weights as they are).

    Example:
        >>> Flat(hidden=16).hidden
        16
    """

    hidden: int = 64
    dropout: float = 0.5

    def __post_init__(self) -> None:
        check((self.hidden,), self.dropout)

    def parts(self, stack: Stack) -> Parts:
        return (flattened(stack.weights, stack.biases),)

    def network(self, parts: Parts) -> nn.Module:
        return in_a_row(parts[0], self.hidden, self.dropout)


def in_a_row(read: Tensor, hidden: int, dropout: float) -> nn.Module:
    return nn.Sequential(
        First(), Standard(read, (0,)), nn.Dropout(dropout), nn.Linear(read.shape[1], hidden), nn.ReLU()
    )


class First(nn.Module):
    """The only part there is."""

    def forward(self, parts: Parts) -> Tensor:
        return parts[0]


def flattened(weights: Sequence[Tensor], biases: Sequence[Tensor]) -> Tensor:
    return torch.cat([each.flatten(1) for each in (*weights, *biases)], 1)
