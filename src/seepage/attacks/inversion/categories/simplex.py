"""The profiling study's probability simplex."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from seepage.attacks.inversion.categories.blocks import divided_by_block_sums


@dataclass(frozen=True, kw_only=True)
class Simplex:
    r"""Each block is made non-negative and divided by its sum: :math:`|z| / \sum |z|`.

    NOTE[DIFF] the profiling study says only that blocks are normalised to the simplex; absolute values keep every entry
    differentiable, where cutting negative ones off would stop their gradient.
    """

    raw = True
    standardised = False

    def __call__(self, variables: Tensor, sizes: tuple[int, ...]) -> Tensor:
        return divided_by_block_sums(variables.abs() + 1e-12, sizes)
