"""SAPAG's Gaussian kernel."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from seepage.attacks.inversion.objectives.squared import layer_gaps


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

    def __call__(self, dots: Tensor, squares: Tensor, own: Tensor, length: Tensor) -> Tensor:
        # NOTE[DIFF] the paper takes the variance of the layer's entries; the squared length is the same up to the
        # layer's size, and is defined for a layer of one entry.
        width = own * self.scale + 1e-30
        return (1 - torch.exp(-layer_gaps(dots, squares, own, length) / width)).mean(-1)
