"""SAPAG's Gaussian kernel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, kw_only=True)
class GaussianKernel:
    r"""A Gaussian kernel per layer, with a width that adapts to the layer.

    .. math:: \sum_l 1 - \exp\!\left(-|\hat u_l - u_l|^2 / \sigma_l^2\right), \qquad \sigma_l^2 = |u_l|^2 \cdot s

    Args:
        scale: :math:`s`; larger is flatter.

    References:
        Wang et al., SAPAG: A Self-Adaptive Privacy Attack From Gradients, 2020.
    """

    scale: float = 1.0

    def bind(self, sizes: tuple[int, ...]) -> Callable[[Tensor, Tensor], Tensor]:
        def distance(simulated: Tensor, observed: Tensor) -> Tensor:
            total = torch.zeros((), dtype=torch.float64)
            pairs = zip(torch.split(simulated, list(sizes)), torch.split(observed, list(sizes)), strict=True)
            for ours, theirs in pairs:
                # NOTE[DIFF] the paper takes the variance of the layer's entries; the squared length is the same up to
                # the layer's size, and is defined for a layer of one entry.
                width = (theirs * theirs).sum(dtype=torch.float64) * self.scale + 1e-30
                gap = ours - theirs
                total = total + 1 - torch.exp(-(gap * gap).sum(dtype=torch.float64) / width)
            return total / len(sizes)

        return distance
