"""Squared distance."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True, kw_only=True)
class Squared:
    r""":math:`|\hat u - u|^2 / |u|^2`: the deep-leakage objective, in units of the observed update.

    NOTE[DIFF] the papers do not divide. Dividing changes no minimum, and makes losses and step sizes comparable
    between models.

    References:
        Zhu et al., Deep Leakage from Gradients, NeurIPS 2019.
    """

    layers = False

    def __call__(self, dots: Tensor, squares: Tensor, own: Tensor, length: Tensor) -> Tensor:
        return layer_gaps(dots, squares, own, length).sum(-1)


def layer_gaps(dots: Tensor, squares: Tensor, own: Tensor, length: Tensor) -> Tensor:
    r""":math:`|\hat u_l - u_l|^2 / |u|^2` of every layer; float error may make it slightly negative."""
    return (squares / length - 2 * dots) / length + own
