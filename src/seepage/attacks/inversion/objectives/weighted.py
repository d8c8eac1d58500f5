"""Layers that count more than others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from seepage._core import InputError, unknown_name
from seepage.attacks.inversion.objectives.cosine import Cosine
from seepage.attacks.inversion.objectives.gaussian_kernel import GaussianKernel
from seepage.attacks.inversion.objectives.squared import Squared

HOW = ("first", "last")
COSINE = Cosine()


@dataclass(frozen=True, kw_only=True)
class Weighted:
    r"""Another objective on :math:`w_l \hat u_l` and :math:`w_l u_l`.

    Args:
        inner: the objective.
        how: ``first``: weights fall from 1 at the first layer to ``least`` at the last, in equal steps; the first
            layer sees the rows directly. ``last``: they rise.
        least: the smallest weight.

    References:
        Geiping et al., Inverting Gradients, NeurIPS 2020, whose code offers linear layer weights.

    Example:
        >>> Weighted(how="first", least=0.5).how
        'first'
    """

    inner: Cosine | Squared | GaussianKernel = COSINE
    how: Literal["first", "last"] = "first"
    least: float = 0.1

    layers = True

    def __post_init__(self) -> None:
        if self.how not in HOW:
            raise unknown_name("layer weighting", self.how, HOW)
        if not 0 < self.least <= 1:
            raise InputError(f"The smallest layer weight is {self.least}; it must be above 0 and at most 1.")

    def __call__(self, dots: Tensor, squares: Tensor, own: Tensor, length: Tensor) -> Tensor:
        weights = torch.linspace(1, self.least, dots.shape[-1], dtype=dots.dtype, device=dots.device) ** 2
        weights = weights if self.how == "first" else weights.flip(0)
        scaled = (own * weights).sum(-1, keepdim=True).rsqrt()  # the weighted observed update has its own length
        return self.inner(dots * weights * scaled, squares * weights, own * weights * scaled**2, length / scaled)
