"""What a reader of models is, and what all of them share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor, nn

from seepage._core import InputError
from seepage.models.stack import Stack

Parts = tuple[Tensor, ...]  # what is read of models; the first axis of each is the models
STILL = 1e-8  # a deviation or a norm below this is rounding
_CHUNK = 128  # models whose answers are computed at once


class Reader(Protocol):
    """Settings of a network that reads models."""

    def parts(self, stack: Stack) -> Parts:
        """What the network reads. Nothing is learnt in it: it is computed once, and mini batches are cut from it."""

    def network(self, parts: Parts) -> nn.Module:
        """A network parts -> (models, features) with freshly drawn weights.

        Args:
            parts: of the shadows that will train it; their means and deviations standardise what is read.
        """


class Standard(nn.Module):
    """Means to 0 and deviations to 1, by the shadows that train; what never changes becomes 0."""

    mean: Tensor
    scale: Tensor

    def __init__(self, shadows: Tensor, over: tuple[int, ...]) -> None:
        super().__init__()
        deviation, mean = torch.std_mean(shadows, over, keepdim=True, correction=0)
        self.register_buffer("mean", mean)
        self.register_buffer("scale", torch.where(deviation > STILL, 1 / deviation.clamp(min=STILL), 0.0))

    def forward(self, values: Tensor) -> Tensor:
        return (values - self.mean) * self.scale


def take(parts: Parts, models: Tensor) -> Parts:
    """What is read of these models."""
    return tuple(part[models] for part in parts)


def chunks(models: int) -> Sequence[Tensor]:
    """Models whose answers are computed at once."""
    return torch.split(torch.arange(models), _CHUNK)


def check(widths: Sequence[int], dropout: float) -> None:
    """Stop at settings that cannot be."""
    if min(widths) < 1:
        raise InputError(f"A reader has a width of {min(widths)}; it must be at least 1.")
    if not 0 <= dropout < 1:
        raise InputError(f"The dropout of a reader is {dropout}; it must be at least 0 and below 1.")
