"""Tables of parties as scikit-learn's users have them: by name, in a list, or one frame with columns dealt by name."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import polars as pl

from seepage._core import InputError, unknown_name
from seepage._core.names import party_name
from seepage.data import as_frame

Tables = Mapping[str, Any] | Sequence[Any] | Any  # the last: one frame, whose columns ``parties`` deals
PartyColumns = Mapping[str, Sequence[str]]


def named_frames(
    tables: Tables, parties: PartyColumns | None = None, absent: Collection[str] = ()
) -> dict[str, pl.DataFrame]:
    """The guests' frames by name.

    Args:
        tables: frames by name or in a list, or one frame of all columns.
        parties: whose columns of that one frame are whose.
        absent: guests whose columns may be missing in it.
    """
    check_same_people(tables)
    for name in (*(tables if isinstance(tables, Mapping) else ()), *(parties or ())):
        party_name(str(name))
    if isinstance(tables, Mapping):
        return {str(name): as_frame(table, least=1) for name, table in tables.items()}
    if hasattr(tables, "columns"):
        return _dealt_frame(as_frame(tables, least=1), parties, absent)
    if hasattr(tables, "shape"):
        raise InputError(
            "An array has no names of columns; give a frame with parties={name: columns}, or a frame each."
        )
    return {f"guest{number}": as_frame(table, least=1) for number, table in enumerate(tables, start=1)}


def _dealt_frame(frame: pl.DataFrame, parties: PartyColumns | None, absent: Collection[str]) -> dict[str, pl.DataFrame]:
    if not parties:
        raise InputError(
            "There is one frame for all parties; say whose columns are whose with parties={name: columns}, or give a "
            "frame for each party by its name."
        )
    here = {name: list(columns) for name, columns in parties.items() if name not in absent}
    owners: dict[str, str] = {}
    for name, columns in here.items():
        for column in columns:
            if column not in frame.columns:
                raise unknown_name("column", column, frame.columns)
            if column in owners:
                raise InputError(
                    f"The column {column!r} is given to {owners[column]!r} and to {name!r}; it has one owner."
                )
            owners[column] = name
    return {name: frame.select(columns) for name, columns in here.items()}


def check_same_people(tables: Tables, labels: Any = None) -> None:
    """Stop where pandas' indices say that row i is not the same person everywhere."""
    if isinstance(tables, Mapping):
        named = {f"guest {name!r}": table for name, table in tables.items()}
    elif hasattr(tables, "columns") or hasattr(tables, "shape"):
        named = {"the table": tables}
    else:
        named = {f"guest {number}": table for number, table in enumerate(tables, start=1)}
    if labels is not None:
        named["the labels"] = labels
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
