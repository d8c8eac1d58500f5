"""Blocks as they are."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True, kw_only=True)
class Unconstrained:
    """The variables are the inputs: nothing says that a block is one category."""

    raw = False
    standardised = False

    def __call__(self, variables: Tensor, sizes: tuple[int, ...]) -> Tensor:
        return variables
