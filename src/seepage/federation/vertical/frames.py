"""Tables of parties as people have them: by name or in a list. One table for all is in :mod:`one_table`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from seepage._core import InputError
from seepage._core.names import party_name
from seepage.data import as_frame

Tables = Mapping[str, Any] | Sequence[Any] | Any  # the last: one table, whose columns ``parties`` deals
Parties = Mapping[str, Sequence[str] | Sequence[int]] | int  # names or positions of each guest's columns


def is_one_table(tables: Tables) -> bool:
    """Whether this is one table for all parties (a frame, an array, rows in a list), not one of each party."""
    if any(hasattr(tables, name) for name in ("shape", "columns", "__array__")) or not isinstance(tables, Iterable):
        return True
    if isinstance(tables, Mapping):
        return False
    return any(len(getattr(table, "shape", ())) != 2 for table in tables)


def named_frames(tables: Mapping[str, Any] | Sequence[Any]) -> dict[str, pl.DataFrame]:
    """The guests' frames by name, from frames by name or in a list."""
    if isinstance(tables, Mapping):
        return {party_name(str(name)): as_frame(table, least=1) for name, table in tables.items()}
    return {f"guest{number}": as_frame(table, least=1) for number, table in enumerate(tables, start=1)}


def check_same_people(tables: Tables, labels: Any = None, weights: Any = None) -> None:
    """Stop where pandas' indices say that row i is not the same person everywhere."""
    if is_one_table(tables):
        named = {"the table": tables}
    elif isinstance(tables, Mapping):
        named = {f"guest {name!r}": table for name, table in tables.items()}
    else:
        named = {f"guest {number}": table for number, table in enumerate(tables, start=1)}
    named |= {"the labels": labels, "the weights": weights}
    known = [(name, index) for name, table in named.items() if (index := _pandas_index(table)) is not None]
    for name, index in known[1:]:
        first, expected = known[0]
        if len(index) == len(expected) and not index.equals(expected):  # other lengths have a sentence of their own
            raise InputError(
                f"The index of {name} differs from that of {first}, so row i is not the same person in both; align "
                "them, or call reset_index(drop=True) on each if they are in the same order."
            )


def _pandas_index(table: Any) -> Any:
    """The index of a pandas frame or series, by what it can do: pandas need not be installed."""
    index = getattr(table, "index", None)
    return index if hasattr(index, "equals") else None


def prefixed(name: str, frame: pl.DataFrame) -> pl.DataFrame:
    """Columns with their owner's name, for a table that holds everybody's."""
    return frame.rename({column: f"{name}.{column}" for column in frame.columns})


def check_rows(frames: Mapping[str, pl.DataFrame], rows: int) -> None:
    """Stop at tables of other lengths."""
    if not frames:
        raise InputError("There is no guest; at least one party with columns is needed.")
    for name, frame in frames.items():
        if frame.height != rows:
            raise InputError(
                f"Guest {name!r} has {frame.height} rows where {rows} are expected; align the tables first."
            )
