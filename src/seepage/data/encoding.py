"""From rows to model inputs and back.

Every model in this house takes one float matrix: the numbers first, then one block per categorical column
with one entry per category. A one-hot model uses it as it is; a model with embeddings multiplies each block
with its table, which is the same as looking a code up, and lets an attacker move continuously between
categories.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Literal

import numpy as np

from seepage.data.curve import Curve
from seepage.data.preprocessing import OneHotFacts, Preprocessing, QuantileFacts
from seepage.data.schema import Schema
from seepage.data.table import UNKNOWN_CODE, Table

Categories = Literal["onehot", "ordinal"]
Numbers = Literal["standard", "minmax", "none"]

# Rows that are encoded at once: they stay in the processor's cache.
_CHUNK = 2048
_THREADS = min(4, os.cpu_count() or 1)


@dataclass(frozen=True)
class Layout:
    """Where things stand in an encoded row: ``numeric`` numbers, then blocks of these ``sizes``.

    ``embedded``: the model multiplies each block with an embedding table instead of using it as it is.
    """

    numeric: int
    sizes: tuple[int, ...]
    embedded: bool = False

    @property
    def width(self) -> int:
        return self.numeric + sum(self.sizes)

    @property
    def blocks(self) -> tuple[slice, ...]:
        """One slice per categorical column."""
        starts = self.numeric + np.concatenate([[0], np.cumsum(self.sizes)]).astype(int)
        return tuple(slice(int(a), int(b)) for a, b in itertools.pairwise(starts))


@dataclass(frozen=True)
class Statistics:
    """Shift and scale of every input coordinate: encoded = (raw - shift) / scale."""

    shift: np.ndarray  # (width,)
    scale: np.ndarray  # (width,)


@dataclass(frozen=True, kw_only=True)
class Encoder:
    """Turns a table into model inputs, and inputs back into valid rows.

    Args:
        schema: of the table.
        categories: ``onehot``: an unknown category is an empty block. ``ordinal``: for embeddings; every
            block ends with a slot for the unknown category.
        numbers: ``standard`` (zero mean, unit deviation), ``minmax`` (the observed range to [0, 1]) or
            ``none``.
        standardise_onehot: also standardise the one-hot entries, as TabLeak does.
        preprocessing: what all clients do to their columns instead: ``numbers`` and statistics of tables do not count.

    Guarantees:
        ``decode(encode(t, s), s)`` is ``t`` for every row whose categories are known and whose numbers are in
        range (floats to within float32's precision).
    """

    schema: Schema
    categories: Categories = "onehot"
    numbers: Numbers = "standard"
    standardise_onehot: bool = False
    preprocessing: Preprocessing | None = None

    @property
    def curves(self) -> tuple[Curve | None, ...]:
        """How each number is bent before it is scaled; None if it is not."""
        if self.preprocessing is None:
            return (None,) * len(self.schema.numeric)
        return tuple(each.curve if isinstance(each, QuantileFacts) else None for each in self.preprocessing.numbers)

    def ranges(self) -> tuple[np.ndarray, np.ndarray]:
        """(numeric,) the lowest and the highest value of every number, in the units that shift and scale act on."""
        ends = [[column.low for column in self.schema.numeric], [column.high for column in self.schema.numeric]]
        low, high = (self._bent(np.array([end], dtype=np.float64))[0] for end in ends)
        return low, high

    @property
    def whole(self) -> np.ndarray:
        """(numeric,) which numbers are whole in those units."""
        pairs = zip(self.schema.numeric, self.curves, strict=True)
        return np.array([column.integer and curve is None for column, curve in pairs], dtype=bool)

    @property
    def layout(self) -> Layout:
        extra = 1 if self.categories == "ordinal" else 0
        sizes = tuple(len(column.categories) + extra for column in self.schema.categorical)
        return Layout(len(self.schema.numeric), sizes, embedded=self.categories == "ordinal")

    def statistics(self, table: Table) -> Statistics:
        """What :meth:`encode` needs, from this table: the whole data set's, or one client's own."""
        layout = self.layout
        if self.preprocessing is not None:
            return self._shared(self.preprocessing)
        shift, scale = np.zeros(layout.width), np.ones(layout.width)
        numeric = slice(0, layout.numeric)
        if self.numbers == "standard":
            shift[numeric], scale[numeric] = table.numbers.mean(0), table.numbers.std(0)
        elif self.numbers == "minmax":
            shift[numeric] = table.numbers.min(0)
            scale[numeric] = table.numbers.max(0) - shift[numeric]
        if self.standardise_onehot:
            codes = self._codes(table)
            for position, block in enumerate(layout.blocks):
                known = codes[codes[:, position] != UNKNOWN_CODE, position]
                share = np.bincount(known, minlength=block.stop - block.start) / len(table)
                shift[block], scale[block] = share, np.sqrt(share * (1 - share))
        scale[scale < 1e-12] = 1.0  # a constant column keeps its value as the shift
        return Statistics(shift, scale)

    def encode(self, table: Table, statistics: Statistics) -> np.ndarray:
        """(rows, width) float32."""
        layout, shift, scale = self.layout, statistics.shift, statistics.scale
        numeric, codes = slice(0, layout.numeric), self._codes(table)
        numbers = self._bent(table.numbers)
        zero, one = (-shift / scale).astype(np.float32), ((1 - shift) / scale).astype(np.float32)
        starts = np.array([block.start for block in layout.blocks], dtype=np.int64)
        # Straight into float32: a wide one-hot table in float64 would be twice the memory for no gain.
        encoded = np.empty((len(table), layout.width), dtype=np.float32)

        def fill(first: int) -> None:
            rows = slice(first, first + _CHUNK)
            part, chosen = encoded[rows], codes[rows]
            part[:] = zero
            part[:, numeric] = (numbers[rows] - shift[numeric]) / scale[numeric]
            places = chosen + starts
            flat = places + layout.width * np.arange(len(part))[:, None]
            if chosen.size and chosen.min() == UNKNOWN_CODE:
                known = chosen != UNKNOWN_CODE
                places, flat = places[known], flat[known]
            part.reshape(-1)[flat.reshape(-1)] = one[places.reshape(-1)]

        if len(table) <= _CHUNK:  # to start a thread takes longer than to fill a batch, and scoring encodes thousands
            fill(0)
            return encoded
        # Large tables are bound by fresh memory, which several threads touch faster than one.
        with ThreadPoolExecutor(_THREADS) as pool:
            list(pool.map(fill, range(0, len(table), _CHUNK)))
        return encoded

    def decode(
        self, encoded: np.ndarray, statistics: Statistics, *, project: bool = True, whole: bool = False
    ) -> tuple[np.ndarray, np.ndarray]:
        """Numbers (float64) and category codes of encoded rows.

        The category of a block is its largest entry in raw units, never the unknown slot. With ``project``
        the numbers are made valid too: clamped to the column's range and rounded where the column holds whole
        numbers. ``whole`` alone rounds and does not clamp.
        """
        layout = self.layout
        raw = encoded.astype(np.float64) * statistics.scale + statistics.shift
        numbers = self._straightened(raw[:, : layout.numeric])
        if (project or whole) and layout.numeric:
            integers = np.array([column.integer for column in self.schema.numeric])
            numbers = np.where(integers, np.round(numbers), numbers)
        if project and layout.numeric:
            low = np.array([column.low for column in self.schema.numeric])
            high = np.array([column.high for column in self.schema.numeric])
            numbers = np.clip(numbers, low, high)
        codes = [
            raw[:, block.start : block.start + len(column.categories)].argmax(1)
            for block, column in zip(layout.blocks, self.schema.categorical, strict=True)
        ]
        return numbers, np.stack(codes, 1) if codes else np.zeros((len(raw), 0), dtype=np.int64)

    def _shared(self, preprocessing: Preprocessing) -> Statistics:
        """The scaling that all clients share."""
        layout = self.layout
        shift, scale = np.zeros(layout.width), np.ones(layout.width)
        numeric = slice(0, layout.numeric)
        shift[numeric] = [each.shift for each in preprocessing.numbers]
        scale[numeric] = [each.scale for each in preprocessing.numbers]
        if self.standardise_onehot:
            for block, each in zip(layout.blocks, preprocessing.categories, strict=True):
                if isinstance(each, OneHotFacts) and each.scale:
                    shift[block], scale[block] = each.shift, each.scale
        return Statistics(shift, scale)

    def _bent(self, numbers: np.ndarray) -> np.ndarray:
        return _columnwise(numbers, [None if curve is None else curve.bend for curve in self.curves])

    def _straightened(self, numbers: np.ndarray) -> np.ndarray:
        return _columnwise(numbers, [None if curve is None else curve.straighten for curve in self.curves])

    def _codes(self, table: Table) -> np.ndarray:
        """Places inside the blocks; with embeddings the unknown category has the last place of its block."""
        if self.categories == "onehot":
            return table.codes
        sizes = np.array([len(column.categories) for column in self.schema.categorical], dtype=np.int64)
        return np.where(table.codes == UNKNOWN_CODE, sizes, table.codes)


def _columnwise(numbers: np.ndarray, functions: Sequence[Callable[[np.ndarray], np.ndarray] | None]) -> np.ndarray:
    """Each column through its function; the same array if there are none."""
    if not any(functions):
        return numbers
    columns = [numbers[:, k] if each is None else each(numbers[:, k]) for k, each in enumerate(functions)]
    return np.stack(columns, axis=1)
