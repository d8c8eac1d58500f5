"""SAPAG's Gaussian kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from seepage.attacks.inversion.objectives.sums import product_sum


@dataclass(frozen=True, kw_only=True)
class GaussianKernel:
    r"""A Gaussian kernel per layer, with a width that adapts to the layer.

    .. math:: \frac1L \sum_l 1 - \exp\!\left(-|\hat u_l - u_l|^2 / \sigma_l^2\right), \qquad \sigma_l^2 = s |u_l|^2

    Args:
        scale: :math:`s`; larger is flatter.

    References:
        Wang et al., SAPAG: A Self-Adaptive Privacy Attack From Gradients, 2020.
    """

    scale: float = 1.0

    layers = True

    def __call__(self, simulated: Sequence[Tensor], direction: Sequence[Tensor], length: Tensor) -> Tensor:
        terms = []
        for ours, theirs in zip(simulated, direction, strict=True):
            # NOTE[DIFF] the paper takes the variance of the layer's entries; the squared length is the same up to the
            # layer's size, and is defined for a layer of one entry.
            gap = ours / length - theirs
            width = product_sum(theirs, theirs) * self.scale + 1e-30
            terms.append(1 - torch.exp(-product_sum(gap, gap) / width))
        return torch.stack(terms).mean()
