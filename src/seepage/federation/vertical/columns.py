"""A guest's own columns: how it reads and encodes them, by itself. The host never sees a schema or a statistic."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import polars as pl
import torch
from torch import Tensor

from seepage._core import InputError
from seepage.data import Encoder, Schema, Statistics, Table, Target
from seepage.data.frames import as_numbers_if_it_reads_so
from seepage.data.infer import infer_column
from seepage.data.leaving_out import is_constant, is_identifier
from seepage.data.table import cells_of

# A guest has no target; a schema needs one.
NO_TARGET = Target(name="", task="binary", classes=("no", "yes"))


@dataclass(frozen=True)
class Columns:
    """What a guest knows about its columns: numbers standardised, categories one-hot."""

    name: str
    schema: Schema
    statistics: Statistics

    @staticmethod
    def fit(name: str, frame: pl.DataFrame, train: np.ndarray | None = None) -> Columns:
        """Learn schema and statistics from a guest's frame.

        Args:
            train: rows whose statistics standardise the numbers; all if not given.
        """
        columns = []
        for series in frame.get_columns():
            series = as_numbers_if_it_reads_so(series)
            if not is_identifier(series) and not is_constant(series):
                columns.append(infer_column(series))
        if not columns:
            raise InputError(f"Guest {name!r} has no columns to learn from (keys and constants do not count).")
        schema = Schema(columns=tuple(columns), target=NO_TARGET)
        table = table_of(frame if train is None else frame[train], schema)
        return Columns(name, schema, Encoder(schema=schema).statistics(table))

    @property
    def encoder(self) -> Encoder:
        """Numbers standardised, categories one-hot."""
        return Encoder(schema=self.schema)

    def encode(self, frame: pl.DataFrame) -> Tensor:
        """(rows, width) the columns as the guest's model takes them."""
        absent = [name for name in self.schema.names if name not in frame.columns]
        if absent:
            raise InputError(f"Guest {self.name!r} lacks the column {', '.join(map(repr, absent))}.")
        return torch.from_numpy(self.encoder.encode(table_of(frame, self.schema), self.statistics))


def table_of(frame: pl.DataFrame, schema: Schema) -> Table:
    """A table without labels."""
    return Table(schema, *cells_of(frame, schema), np.zeros(frame.height, dtype=np.int64))


def dealt(names: list[str], guests: int) -> list[list[str]]:
    """Columns dealt evenly to guests, neighbours together, as the TabVFL thesis splits a table."""
    if not 1 <= guests <= len(names):
        raise InputError(f"{len(names)} columns cannot be dealt to {guests} guests; every guest needs one.")
    ends = np.linspace(0, len(names), guests + 1).round().astype(int)
    return [names[begin:end] for begin, end in itertools.pairwise(ends)]
