"""What was made of a table, column by column: for `seepage data check`, the start of an audit and the report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from seepage.data.read_column import Reading
from seepage.data.schema import MISSING, Column, Schema
from seepage.data.shapes import shapes


@dataclass(frozen=True, kw_only=True)
class ColumnView:
    """One column of the overview. It holds no cell.

    Args:
        read_as, why: what it was taken for, and the reason.
        distinct, missing: different values and empty cells in the rows that are used.
        shapes: what cells look like, with 9 for digits and a for letters.
        use: what is done with it.
        filled: what an empty cell becomes; empty if there is none.
        remarkable: it is used, but not read as any reader would.
    """

    name: str
    read_as: str
    why: str
    distinct: int
    missing: int
    shapes: tuple[str, ...]
    use: str
    filled: str = ""
    remarkable: bool = False


@dataclass(frozen=True, kw_only=True)
class Overview:
    """What was made of a table.

    Args:
        rows: rows that are used; ``unlabelled`` others have no target.
        notes: what a person should know, one sentence each.
    """

    name: str
    rows: int
    unlabelled: int
    target: str
    columns: tuple[ColumnView, ...]
    notes: tuple[str, ...] = ()

    @property
    def missing(self) -> dict[str, tuple[int, str]]:
        """Input columns with empty cells: how many, and what they become."""
        return {each.name: (each.missing, each.filled) for each in self.columns if each.filled}


def overview_of(
    name: str,
    frame: pl.DataFrame,
    schema: Schema,
    *,
    written: pl.DataFrame,
    readings: Sequence[Reading] = (),
    notes: tuple[str, ...] = (),
) -> Overview:
    """What was made of a table.

    Args:
        name: the table's.
        frame: the cells as they were read.
        schema: what is done with them.
        written: the cells as they stand in the file.
        readings: how they were read, where that was a question.
        notes: about the file.
    """
    target = schema.target.name
    labelled = frame.filter(pl.col(target).is_not_null()) if target else frame
    unlabelled = frame.height - labelled.height
    by_name = {reading.name: reading for reading in readings}
    inputs = {column.name: column for column in schema.columns}
    views = tuple(
        _view(values, written[values.name], schema, inputs.get(values.name), by_name.get(values.name))
        for values in labelled.get_columns()
    )
    if unlabelled:
        have, are = ("has", "is") if unlabelled == 1 else ("have", "are")
        notes += (f"{unlabelled:,} of {frame.height:,} rows {have} no target ({target}) and {are} left out.",)
    dropped = {each.name for each in schema.dropped}
    notes += tuple(note for reading in readings if reading.name not in dropped for note in reading.notes)
    return Overview(
        name=name, rows=labelled.height, unlabelled=unlabelled, target=target, columns=views, notes=notes
    )  # fmt: skip


def _view(
    values: pl.Series, written: pl.Series, schema: Schema, column: Column | None, reading: Reading | None
) -> ColumnView:
    name = values.name
    missing = values.null_count()
    filled = _filled(values, column, reading) if column and missing else ""
    use, out = _use(name, schema, column, reading)
    if filled:
        use += f"; {missing:,} empty: {filled}"
    return ColumnView(
        name=name,
        read_as=reading.read_as if reading else ("-" if out else _kind(column)),
        why=reading.why if reading else ("" if out else "as documented"),
        distinct=0 if values.dtype.is_nested() or values.dtype == pl.Object else values.drop_nulls().n_unique(),
        missing=missing,
        shapes=shapes(written),
        use=use,
        filled=filled,
        remarkable=not out and bool(reading and (reading.unit or reading.word)),
    )


def _kind(column: Column | None) -> str:
    return "target" if column is None else "number" if column.is_numeric else "category"


def _use(name: str, schema: Schema, column: Column | None, reading: Reading | None) -> tuple[str, bool]:
    """What is done with a column, and whether it is left out."""
    target = schema.target
    if name == target.name:
        return (f"target, {len(target.classes)} classes" if target.classes else "target, a number"), False
    if column is None:
        reason = next((each.reason for each in schema.dropped if each.name == name), "not in the schema")
        return f"left out: {reason}", True
    if not column.is_numeric:
        return f"{len([each for each in column.categories if each != MISSING])} categories", False
    return (f"number: {reading.unit}" if reading and reading.unit else "number"), False


def _filled(values: pl.Series, column: Column, reading: Reading | None) -> str:
    """What an empty cell of an input column becomes."""
    if not column.is_numeric:
        return "own category" if MISSING in column.categories else "unknown category"
    if column.fill == 0:
        return "0, which is 1970-01-01" if reading and reading.unit == "days since 1970" else "0"
    median = values.median()
    return "the median" if median is not None and column.fill == median else "the schema's number"
