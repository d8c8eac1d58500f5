"""A table as a preprocessor takes it: empty cells filled, rare categories merged, columns in its order."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from seepage._core import InputError, nearest
from seepage.data.encoding import Encoder
from seepage.data.infer import as_text, column_of_kind
from seepage.data.preprocessing import CodeFacts, InputFacts, NumberFacts, OneHotFacts, Preprocessing, QuantileFacts
from seepage.data.schema import MISSING, Column, Kind, Schema
from seepage.data.sklearn_facts import from_sklearn, is_sklearn
from seepage.data.table import UNKNOWN_CODE, Table

CLOSE = 1e-4  # of a column's range: numbers that come back so near are the same, in float32


def as_preprocessing(given: Any) -> Preprocessing | None:
    """What somebody gives: facts, a TOML file of them, a fitted scikit-learn preprocessor, or nothing."""
    if given is None or isinstance(given, Preprocessing):
        return given
    if isinstance(given, str | Path):
        return Preprocessing.read(given)
    if is_sklearn(given):
        return from_sklearn(given)
    raise InputError(
        f"The preprocessing is a {type(given).__name__}; it must be a fitted scikit-learn preprocessor, a TOML file of "
        "its facts, or seepage.data.Preprocessing."
    )


def words_of(preprocessing: Preprocessing) -> dict[str, str]:
    """How the cells of each column are to be read."""
    return {
        each.name: "number" if isinstance(each, NumberFacts | QuantileFacts) else "category"
        for each in preprocessing.columns
    }


def check_columns(preprocessing: Preprocessing, names: Iterable[str]) -> None:
    """Stop if the preprocessing has other columns than the table."""
    there = list(names)
    known = [each.name for each in preprocessing.columns]
    for name in known:
        if name not in there:
            guess = nearest(name, there)
            hint = f" Did you mean {guess!r}?" if guess else ""
            raise InputError(f"The preprocessing has a column {name!r}, which the table has not.{hint}")
    lost = [name for name in there if name not in known]
    if lost:
        raise InputError(
            f"The preprocessing drops the column {', '.join(map(repr, lost[:3]))}: it says nothing about it; leave it "
            f"out of the table too (drop), or add it."
        )


def prepared(frame: pl.DataFrame, schema: Schema, preprocessing: Preprocessing) -> tuple[pl.DataFrame, Schema]:
    """The frame after filling and merging, and the schema with the preprocessing's columns and categories."""
    check_columns(preprocessing, schema.names)
    sensitive = {column.name: column.sensitive for column in schema.columns}
    readings = {column.name: column.read_as for column in schema.columns}
    labelled = frame[schema.target.name].is_not_null()
    series, columns = [], []
    for facts in preprocessing.columns:
        cells = _cells(frame[facts.name], facts)
        series.append(cells)
        made = _column(cells.filter(labelled), facts)
        columns.append(replace(made, sensitive=sensitive[facts.name], read_as=readings[facts.name]))
    return frame.with_columns(series), replace(schema, columns=tuple(columns))


def prepared_schema(schema: Schema, preprocessing: Preprocessing) -> Schema:
    """The schema with the preprocessing's order and categories, where there are no rows: ranges are the schema's."""
    check_columns(preprocessing, schema.names)
    columns = []
    for facts in preprocessing.columns:
        column = schema.column(facts.name)
        if column.is_numeric != isinstance(facts, NumberFacts | QuantileFacts):
            raise InputError(f"The preprocessing and the schema do not agree on whether {facts.name!r} is a number.")
        if isinstance(facts, OneHotFacts | CodeFacts):
            kind: Kind = "binary" if len(facts.categories) == 2 else "categorical"
            column = replace(column, kind=kind, categories=facts.categories)
        columns.append(column)
    return replace(schema, columns=tuple(columns))


def _cells(cells: pl.Series, facts: InputFacts) -> pl.Series:
    if isinstance(facts, OneHotFacts | CodeFacts):
        return _category_cells(cells, facts)
    if not cells.dtype.is_numeric():
        raise InputError(f"The preprocessing takes {facts.name!r} as a number; its cells are none.")
    if cells.null_count() and facts.fill is None:
        raise InputError(f"{facts.name!r} has empty cells, and the preprocessing does not fill them (fill).")
    if facts.fill is not None and cells.null_count():
        whole = cells.dtype.is_integer() and float(facts.fill).is_integer()
        cells = (cells if whole else cells.cast(pl.Float64)).fill_null(int(facts.fill) if whole else facts.fill)
    if isinstance(facts, NumberFacts) and (facts.low is not None or facts.high is not None):
        cells = cells.cast(pl.Float64).clip(facts.low, facts.high)
    return cells


def _category_cells(cells: pl.Series, facts: OneHotFacts | CodeFacts) -> pl.Series:
    """Cells as text, each of them a category or, where that is allowed, none."""
    text = as_text(cells)
    known = set(facts.categories)
    if facts.fill is not None:
        text = text.fill_null(facts.fill)
    if isinstance(facts, OneHotFacts) and facts.rare:
        text = text.replace(dict.fromkeys(facts.rare, facts.categories[-1]))
    strange = [each for each in text.unique().to_list() if (MISSING if each is None else each) not in known]
    if not strange:
        return text
    if facts.unknown == "error":
        what = "empty cells, which" if strange == [None] else "a category that"
        raise InputError(f"{facts.name!r} has {what} the preprocessing does not know; fill it, or say what it becomes.")
    if isinstance(facts, OneHotFacts) and facts.unknown == "rare":
        text = text.replace({each: facts.categories[-1] for each in strange if each is not None})
        return text.fill_null(facts.categories[-1]) if None in strange else text
    return text


def _column(cells: pl.Series, facts: InputFacts) -> Column:
    if isinstance(facts, NumberFacts | QuantileFacts):
        column = column_of_kind(cells, "numeric")
        return column if facts.fill is None else replace(column, fill=facts.fill)
    two = len(facts.categories) == 2
    return Column(name=facts.name, kind="binary" if two else "categorical", categories=facts.categories)


def lost_cells(table: Table, preprocessing: Preprocessing) -> list[str]:
    """Columns of the table whose cells do not come back when they are encoded and decoded, as sentences."""
    encoder = Encoder(schema=table.schema, preprocessing=preprocessing, standardise_onehot=preprocessing.standardised)
    statistics = encoder.statistics(table)
    numbers, codes = encoder.decode(encoder.encode(table, statistics), statistics, project=False, whole=True)
    lost = []
    for place, column in enumerate(table.schema.numeric):
        allowed = CLOSE * max(column.high - column.low, 1e-30)
        away = np.abs(numbers[:, place] - table.numbers[:, place]) > allowed
        if away.any():
            share = f"{int(away.sum()):,} of {len(table):,} cells"
            lost.append(f"{share} of {column.name!r} do not come back when they are encoded and decoded.")
    for place, column in enumerate(table.schema.categorical):
        known = table.codes[:, place] != UNKNOWN_CODE
        away = known & (codes[:, place] != table.codes[:, place])
        if away.any():
            lost.append(
                f"{int(away.sum()):,} of {len(table):,} cells of {column.name!r} come back as another category."
            )
    return lost
