"""A table as stacked training takes it: numbers, and places of one-hot entries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from seepage._core import InputError


@dataclass(frozen=True, eq=False)
class Encoded:
    """Labelled rows as a network takes them, without the zeros of one-hot columns.

    Args:
        numbers: (rows, numeric) float32, the first columns of a network's input.
        places: (rows, categorical) int32: which one-hot columns are 1; ``onehot`` stands for an unknown category.
        onehot: how many one-hot columns follow the numbers.
        labels: (rows,) int64.
        classes: how many.
    """

    numbers: Tensor
    places: Tensor
    onehot: int
    labels: Tensor
    classes: int

    def __post_init__(self) -> None:
        rows = {len(self.numbers), len(self.places), len(self.labels)}
        if len(rows) > 1:
            raise InputError(f"Numbers, categories and labels have different numbers of rows: {sorted(rows)}.")
        if not bool(torch.isfinite(self.numbers).all()):
            raise InputError("Some numbers of the rows are NaN or infinite.")
        for name, values, end in (("category", self.places, self.onehot + 1), ("label", self.labels, self.classes)):
            if values.numel() and not 0 <= int(values.min()) <= int(values.max()) < end:
                found = f"{int(values.min())} to {int(values.max())}"
                raise InputError(f"The {name} codes are {found}; 0 to {end - 1} are allowed.")

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def width(self) -> int:
        """Columns a network sees."""
        return self.numbers.shape[1] + self.onehot

    @staticmethod
    def of(numbers: np.ndarray, codes: np.ndarray, sizes: Sequence[int], labels: np.ndarray, classes: int) -> Encoded:
        """From numbers, category codes column by column (-1 is unknown) and how many categories each column has."""
        starts = np.cumsum([0, *sizes])
        places = np.where(codes < 0, starts[-1], codes + starts[:-1])
        return Encoded(
            torch.from_numpy(np.ascontiguousarray(numbers, dtype=np.float32)),
            torch.from_numpy(np.ascontiguousarray(places, dtype=np.int32)),
            int(starts[-1]),
            torch.from_numpy(np.ascontiguousarray(labels, dtype=np.int64)),
            classes,
        )

    def take(self, rows: Tensor) -> Encoded:
        """These rows, in this order."""
        return Encoded(self.numbers[rows], self.places[rows], self.onehot, self.labels[rows], self.classes)

    def dense(self) -> Tensor:
        """(rows, width): with the zeros, for a network that is not stacked."""
        ones = torch.zeros(len(self), self.onehot + 1).scatter_(1, self.places.long(), 1.0)
        return torch.cat([self.numbers, ones[:, :-1]], 1)
