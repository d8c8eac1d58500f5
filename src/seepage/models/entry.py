"""What is done to rows before a module takes them: somebody's preprocessor may lay them out in another way."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class Entry:
    """From rows as this house lays them out to a module's inputs.

    Args:
        picked: the places of our row that the module takes, in its order; None if it takes sums of them.
        matrix, offsets: (width, inputs) and (inputs,) those sums; None if it takes places.
        back: (inputs + 1, width + 1) from the module's inputs with a 1 to our rows with a 1, in float64; None if the
            inputs do not tell the rows.
        numeric, sizes: what a function that makes the module is told.
    """

    picked: Tensor | None
    matrix: Tensor | None
    offsets: Tensor | None
    back: Tensor | None
    numeric: int
    sizes: tuple[int, ...]

    def __call__(self, x: Tensor) -> Tensor:
        """(rows, inputs) from (rows, width)."""
        if self.picked is not None:
            return torch.index_select(x, -1, self.picked.to(x.device))
        assert self.matrix is not None
        assert self.offsets is not None
        return x @ self.matrix.to(x) + self.offsets.to(x)
