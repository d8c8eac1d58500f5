"""The probability simplex of the profiling study's public code."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from seepage.attacks.inversion.categories.blocks import divided_by_block_sums


@dataclass(frozen=True, kw_only=True)
class CutSimplex:
    r"""Negative entries are cut off, and each block is divided by its sum: :math:`z_+ / \sum z_+`.

    An entry below zero gets no slope any more; only Adam's momentum may bring it back.

    References:
        Nilsson et al., Profiling privacy preservation, 2026 (the profiling study), the probability-simplex variant.
    """

    raw = True
    standardised = False

    def __call__(self, variables: Tensor, sizes: tuple[int, ...]) -> Tensor:
        # NOTE[DIFF] a block without a positive entry is uniform there; the small number does the same here.
        return divided_by_block_sums(variables.clamp(min=0) + 1e-12, sizes)
