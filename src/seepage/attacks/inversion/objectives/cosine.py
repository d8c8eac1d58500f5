"""1 - cosine similarity."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True, kw_only=True)
class Cosine:
    r"""The angle between the updates, whatever their length: :math:`1 - \langle u, \hat u\rangle / |u||\hat u|`.

    References:
        Geiping et al., Inverting Gradients, NeurIPS 2020.
    """

    layers = False

    def __call__(self, dots: Tensor, squares: Tensor, own: Tensor, length: Tensor) -> Tensor:
        return 1 - dots.sum(-1) * (squares.sum(-1) + 1e-60).rsqrt()
