"""Document 002's probability simplex."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True, kw_only=True)
class Simplex:
    r"""Each block is made non-negative and divided by its sum: :math:`|z| / \sum |z|`.

    NOTE[DIFF] document 002 says only that blocks are normalised to the simplex; absolute values keep every entry
    differentiable, where cutting negative ones off would stop their gradient.
    """

    raw = True

    def __call__(self, block: Tensor) -> Tensor:
        positive = block.abs() + 1e-12
        return positive / positive.sum(-1, keepdim=True)
