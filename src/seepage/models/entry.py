"""What is done to rows before a module takes them: somebody's preprocessor may lay them out in another way."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor, nn


class Way(Protocol):
    """From rows as this house lays them out to what a module takes."""

    @property
    def back(self) -> Tensor | None: ...

    @property
    def numeric(self) -> int: ...

    @property
    def sizes(self) -> tuple[int, ...]: ...

    def __call__(self, x: Tensor) -> tuple[Tensor, ...]: ...

    def lending(self, module: nn.Module, x: Tensor) -> AbstractContextManager[None]: ...


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

    def __call__(self, x: Tensor) -> tuple[Tensor, ...]:
        """(rows, inputs) from (rows, width)."""
        if self.picked is not None:
            return (torch.index_select(x, -1, self.picked.to(x.device)),)
        assert self.matrix is not None
        assert self.offsets is not None
        return (x @ self.matrix.to(x) + self.offsets.to(x),)

    def lending(self, module: nn.Module, x: Tensor) -> AbstractContextManager[None]:
        """The module needs nothing else."""
        return nullcontext()
