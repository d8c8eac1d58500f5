"""Squared distance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from seepage.attacks.inversion.objectives.sums import product_sum


@dataclass(frozen=True, kw_only=True)
class Squared:
    r""":math:`|\hat u - u|^2 / |u|^2`: the deep-leakage objective, in units of the observed update.

    NOTE[DIFF] the papers do not divide. Dividing changes no minimum, and makes losses and step sizes comparable
    between models.

    References:
        Zhu et al., Deep Leakage from Gradients, NeurIPS 2019.
    """

    layers = False

    def __call__(self, simulated: Sequence[Tensor], direction: Sequence[Tensor], length: Tensor) -> Tensor:
        gaps = [a / length - b for a, b in zip(simulated, direction, strict=True)]
        return torch.stack([product_sum(gap, gap) for gap in gaps]).sum()
