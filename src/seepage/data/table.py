"""A table in the form everything else works on: numbers, category codes and a target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from seepage._core import InputError
from seepage.data.frames import as_numbers_if_it_reads_so
from seepage.data.infer import as_text
from seepage.data.leaving_out import check_finite
from seepage.data.schema import MISSING, UNKNOWN, Column, Schema

UNKNOWN_CODE = -1


@dataclass(frozen=True)
class Table:
    """Rows under a schema.

    Args:
        schema: what the columns are.
        numbers: (rows, numeric columns) float64.
        codes: (rows, categorical columns) int64, the index into the column's categories; -1 is the unknown
            category.
        target: (rows,) class codes as int64, or float64 values for regression.
    """

    schema: Schema
    numbers: np.ndarray
    codes: np.ndarray
    target: np.ndarray

    def __len__(self) -> int:
        return len(self.target)

    def take(self, rows: np.ndarray) -> Table:
        """The table of these rows, in this order."""
        return Table(self.schema, self.numbers[rows], self.codes[rows], self.target[rows])

    def to_frame(self) -> pl.DataFrame:
        """Back to a frame with the original names, in the schema's order, target last."""
        data: dict[str, Any] = {}
        numeric, categorical = iter(range(self.numbers.shape[1])), iter(range(self.codes.shape[1]))
        for column in self.schema.columns:
            if column.is_numeric:
                values = self.numbers[:, next(numeric)]
                data[column.name] = np.rint(values).astype(np.int64) if column.integer else values
            else:
                data[column.name] = _names(column.categories, self.codes[:, next(categorical)])
        target = self.schema.target
        data[target.name] = _names(target.classes, self.target) if target.classes else self.target
        return pl.DataFrame(data)

    @staticmethod
    def from_frame(frame: pl.DataFrame, schema: Schema) -> Table:
        """Read a frame under a schema. Rows without a target are left out; new categories become the unknown
        one.
        """
        check_fits(frame, schema)
        frame = frame.filter(pl.col(schema.target.name).is_not_null())
        return Table(schema, *cells_of(frame, schema), _target(frame[schema.target.name], schema))


def cells_of(frame: pl.DataFrame, schema: Schema) -> tuple[np.ndarray, np.ndarray]:
    """Numbers and category codes of a frame's input columns."""
    numbers = [_numbers(frame[column.name], column) for column in schema.numeric]
    codes = [_codes(frame[column.name], column.categories, column.name) for column in schema.categorical]
    return (
        np.stack(numbers, axis=1) if numbers else np.zeros((frame.height, 0)),
        np.stack(codes, axis=1) if codes else np.zeros((frame.height, 0), dtype=np.int64),
    )


def check_fits(frame: pl.DataFrame, schema: Schema) -> None:
    """Stop with a sentence when the schema is not of this table."""
    wanted = [*schema.names, schema.target.name]
    absent = [name for name in wanted if name not in frame.columns]
    if absent:
        raise InputError(f"The schema does not fit the table: it has no column {', '.join(map(repr, absent))}.")
    listed = {*wanted, *(dropped.name for dropped in schema.dropped)}
    extra = [name for name in frame.columns if name not in listed]
    if extra:
        raise InputError(
            f"The schema does not fit the table: it does not mention column {', '.join(map(repr, extra))}; "
            "add it under [[columns]] or [[dropped]]."
        )


def _numbers(series: pl.Series, column: Column) -> np.ndarray:
    series = as_numbers_if_it_reads_so(series)
    if not series.dtype.is_numeric():
        raise InputError(f"The schema does not fit the table: column {column.name!r} is numeric there, text here.")
    check_finite(series)
    values: np.ndarray = series.cast(pl.Float64).fill_null(column.fill).to_numpy(writable=True)
    return values


def _codes(series: pl.Series, categories: tuple[str, ...], name: str) -> np.ndarray:
    """Codes of a categorical column. Only its distinct values are compared as text: rows are many, values are few."""
    distinct = series.drop_nulls().unique()
    text = as_text(as_numbers_if_it_reads_so(distinct))
    code = {category: place for place, category in enumerate(categories)}
    lookup = [code.get(value, UNKNOWN_CODE) for value in text] + [code.get(MISSING, UNKNOWN_CODE)]
    if series.dtype == pl.String:
        places = series.cast(pl.Enum(distinct)).to_physical()
    else:
        places = series.replace_strict(distinct, pl.Series(range(len(distinct)), dtype=pl.UInt32), default=None)
    values: np.ndarray = np.array(lookup, dtype=np.int64)[places.fill_null(len(distinct)).to_numpy()]
    if len(values) and (values == UNKNOWN_CODE).all():
        raise InputError(f"The schema does not fit the table: no cell of {name!r} is one of its categories.")
    return values


def _target(series: pl.Series, schema: Schema) -> np.ndarray:
    target = schema.target
    if not target.classes:
        series = as_numbers_if_it_reads_so(series)
        if not series.dtype.is_numeric():
            raise InputError(f"The schema does not fit the table: the target {target.name!r} is text here.")
        check_finite(series)
        values: np.ndarray = series.cast(pl.Float64).to_numpy(writable=True)
        return values
    codes = _codes(series, target.classes, target.name)
    if (codes == UNKNOWN_CODE).any():
        raise InputError(
            f"The schema does not fit the table: the target {target.name!r} has a class other than "
            f"{', '.join(target.classes)}."
        )
    return codes


def _names(categories: tuple[str, ...], codes: np.ndarray) -> list[str | None]:
    names = [*categories, UNKNOWN]  # code -1 reads the last entry
    return [None if names[code] == MISSING else names[code] for code in codes]
