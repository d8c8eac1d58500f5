"""Gaussian noise on what is sent."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from seepage._core import InputError
from seepage.defenses.defense import Defense
from seepage.models import Parameters
from seepage.observation import Channel


@dataclass(frozen=True, kw_only=True)
class GaussianNoise(Defense):
    r"""Adds independent noise to every entry of the update, just before it is sent.

    .. math:: \tilde u = u + \mathcal N(0, \sigma^2 I)

    TabLeak (appendix C.1, Figures 4 to 7) adds it to FedSGD's gradients with :math:`\sigma` of 0.001, 0.01 and
    0.1. For FedAvg the update is the change of the parameters, which is smaller than a gradient by the learning rate:
    there the same deviation is a stronger defence, and it costs more utility.

    Guarantees:
        None by itself: without clipping a single row may change the update by any amount, so no epsilon can be stated.
        See :class:`DPSGD`.

    Args:
        deviation: :math:`\sigma`, in units of the update.

    Example:
        >>> noisy = GaussianNoise(deviation=0.1).protect({"w": torch.zeros(2, 3)}, torch.Generator().manual_seed(1))
        >>> noisy["w"].shape
        torch.Size([2, 3])

    References:
        Vero et al., Data Leakage in Tabular Federated Learning, 2022 (TabLeak); Zhu et al., Deep Leakage from
        Gradients, NeurIPS 2019.
    """

    deviation: float = 0.01

    def __post_init__(self) -> None:
        if not 0 <= self.deviation < math.inf:
            raise InputError(f"The noise's deviation is {self.deviation}; it must be 0 or above.")

    def channel(self) -> Channel:
        """Noise of a known deviation."""
        return Channel(noise=self.deviation)

    def protect(self, update: Parameters, random: torch.Generator) -> Parameters:
        """The update with fresh noise for every client."""
        return {
            name: value + self.deviation * torch.randn(value.shape, generator=random, dtype=value.dtype)
            for name, value in update.items()
        }
