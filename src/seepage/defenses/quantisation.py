"""Quantisation: every entry of an update is sent with few bits."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from seepage._core import InputError
from seepage.defenses.defense import Defense
from seepage.models import Parameters
from seepage.observation import Channel


@dataclass(frozen=True, kw_only=True)
class Quantisation(Defense):
    r"""Rounds every entry to an even grid, or keeps its sign only.

    With :math:`b \ge 2` bits, each parameter tensor of each client has a grid of :math:`2^b - 1` values from :math:`-m`
    to :math:`m`, its own largest magnitude; zero is on the grid, and entries go to the nearest value. With one bit, an
    entry is sent as its sign times the mean magnitude of the tensor. It draws nothing at random.

    NOTE[DIFF] QSGD rounds at random so that the mean is right, and scales by the norm; signSGD sends no magnitude.

    Guarantees:
        None.

    Args:
        bits: for each entry, from 1 (the sign) to 16.

    Example:
        >>> Quantisation(bits=1).protect({"w": torch.tensor([[3.0, -1.0]])}, torch.Generator())["w"].tolist()
        [[2.0, -2.0]]

    References:
        Alistarh et al., QSGD, NeurIPS 2017; Bernstein et al., signSGD, ICML 2018.
    """

    bits: int = 8

    def __post_init__(self) -> None:
        if not 1 <= self.bits <= 16:
            raise InputError(f"There are {self.bits} bits for each entry; there must be 1 to 16.")

    def channel(self) -> Channel:
        """The grid of a tensor, or its signs."""
        return Channel(signs=True) if self.bits == 1 else Channel(levels=2 ** (self.bits - 1) - 1)

    def protect(self, update: Parameters, random: torch.Generator) -> Parameters:
        """The update on its grid."""
        return {name: self._rounded(value) for name, value in update.items()}

    def _rounded(self, value: Tensor) -> Tensor:
        flat = value.flatten(1)  # (clients, entries)
        if self.bits == 1:
            return (flat.sign() * flat.abs().mean(1, keepdim=True)).view_as(value)
        levels = 2 ** (self.bits - 1) - 1
        step = flat.abs().amax(1, keepdim=True) / levels
        step = torch.where(step > 0, step, torch.ones_like(step))  # a tensor of zeros stays one
        return ((flat / step).round() * step).view_as(value)
