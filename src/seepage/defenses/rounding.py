"""Rounding: every entry of an update goes to a grid that is the same for all."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from seepage._core import InputError
from seepage.defenses.defense import Defense
from seepage.models import Parameters
from seepage.observation import Channel


@dataclass(frozen=True, kw_only=True)
class Rounding(Defense):
    """Rounds every entry to a multiple of a step: 0.001 is three decimals.

    ``quantisation`` makes a grid for each tensor of each client instead, from its largest entry.

    Guarantees:
        None.

    Args:
        step: in units of the update.
        dither: round at random to one of the two neighbours, so that the mean is right; else to the nearest.

    Example:
        >>> Rounding(step=0.5).protect({"w": torch.tensor([[0.7, -1.3]])}, torch.Generator())["w"].tolist()
        [[0.5, -1.5]]

    References:
        Alistarh et al., QSGD, NeurIPS 2017, for rounding at random.
    """

    step: float = 0.001
    dither: bool = False

    def __post_init__(self) -> None:
        if not 0 < self.step < math.inf:
            raise InputError(f"The step of rounding is {self.step}; it must be above 0.")

    def channel(self) -> Channel:
        """The grid."""
        return Channel(step=self.step, dithered=self.dither)

    def protect(self, update: Parameters, random: torch.Generator) -> Parameters:
        """The update on the grid."""
        return {name: self._rounded(value, random) for name, value in update.items()}

    def _rounded(self, value: Tensor, random: torch.Generator) -> Tensor:
        steps = value / self.step
        if self.dither:
            return (steps + torch.rand(value.shape, generator=random, dtype=value.dtype)).floor() * self.step
        return steps.round() * self.step
