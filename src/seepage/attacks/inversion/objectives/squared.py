"""Squared distance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, kw_only=True)
class Squared:
    r""":math:`|\hat u - u|^2 / |u|^2`: the deep-leakage objective, in units of the observed update.

    NOTE[DIFF] the papers do not divide. Dividing changes no minimum, and makes losses and step sizes comparable
    between models.

    References:
        Zhu et al., Deep Leakage from Gradients, NeurIPS 2019.
    """

    def bind(self, sizes: tuple[int, ...]) -> Callable[[Tensor, Tensor], Tensor]:
        return squared_distance


def squared_distance(simulated: Tensor, observed: Tensor) -> Tensor:
    difference = simulated - observed
    length = (observed * observed).sum(dtype=torch.float64)
    return (difference * difference).sum(dtype=torch.float64) / (length + 1e-60)
