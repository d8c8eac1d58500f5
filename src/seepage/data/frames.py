"""Frames and files in: CSV, Parquet, polars, pandas. Whatever comes becomes a polars frame with null for
empty cells.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import polars as pl

from seepage._core import InputError
from seepage.data.files import EMPTY, check_no_duplicates, read_raw


def read_frame(path: Path) -> pl.DataFrame:
    """Read a CSV, Excel or Parquet file; text that reads as plain numbers becomes numbers."""
    raw = read_raw(path)
    return from_text(raw.frame, str(path)) if raw.separator else checked(raw.frame, str(path))


def from_text(frame: pl.DataFrame, where: str) -> pl.DataFrame:
    """A frame of nothing but text, checked and with its numbers read. A blank line, usually the last, is no row."""
    frame = frame.filter(~pl.all_horizontal(pl.all().is_null()))
    # Numbers first, because cleaning text is slow; and again, because cleaning brings empty cells to light.
    return numbers_back(checked(numbers_back(frame), where))


def numbers_back(frame: pl.DataFrame) -> pl.DataFrame:
    """Text columns that hold nothing but numbers become numbers, whole ones integers."""
    texts = [frame[name] for name, dtype in frame.schema.items() if dtype == pl.String]
    return frame.with_columns(as_numbers_if_it_reads_so(series) for series in texts)


def as_numbers_if_it_reads_so(series: pl.Series) -> pl.Series:
    """Text in which every non-empty cell reads as a number becomes numbers; everything else stays."""
    if series.dtype != pl.String or series.null_count() == len(series):
        return series
    for dtype in (pl.Int64, pl.Float64):  # whole numbers first: a long key does not fit into a float
        head = series.head(256)  # most text shows itself at once
        if head.str.strip_chars().cast(dtype, strict=False).null_count() != head.null_count():
            continue
        numbers = series.str.strip_chars().cast(dtype, strict=False)
        if numbers.null_count() == series.null_count():
            return numbers
    return series


def as_frame(data: Any, *, least: int = 2, dates: bool = False) -> pl.DataFrame:
    """A polars frame from a polars or pandas frame. pandas writes a missing number as NaN, so there NaN is
    empty. What pandas calls a category stays one, even if it is written as a number.

    Args:
        least: columns that a table must have; a party of vertical learning may own one only.
        dates: columns of dates, times and other types stay, for a reader that knows what to do with them.
    """
    if isinstance(data, pl.DataFrame):
        return checked(data, "the frame", least=least, dates=dates)
    if not (hasattr(data, "columns") and hasattr(data, "iloc")):
        raise InputError(f"Expected a polars or pandas frame or a path, found {type(data).__name__}.")
    names = [str(name) for name in data.columns]
    check_no_duplicates(names, "the frame")
    columns = {}
    for position, name in enumerate(names):
        column = data.iloc[:, position]
        empty = column.isna()
        values = [None if gone else value for value, gone in zip(column.tolist(), empty.tolist(), strict=True)]
        series = pl.Series(name, values, strict=False)
        columns[name] = _as_category(series) if str(column.dtype) == "category" else series
    return checked(pl.DataFrame(columns), "the frame", least=least, dates=dates)


def checked(frame: pl.DataFrame, where: str, *, least: int = 2, dates: bool = False) -> pl.DataFrame:
    """The frame with clean names and text, or a sentence why it is no table."""
    names = _named([name.strip() for name in frame.columns])
    check_no_duplicates(names, where)
    frame = frame.rename(dict(zip(frame.columns, names, strict=True)))
    if frame.width < least or frame.height == 0:
        raise InputError(
            f"{where} is not a table to learn from: it has {frame.height} row(s) and {frame.width} column(s)."
        )
    categories = [name for name, dtype in frame.schema.items() if dtype in (pl.Categorical, pl.Enum)]
    text = pl.col(pl.String).str.strip_chars()
    frame = frame.with_columns(pl.col(categories).cast(pl.String))
    frame = frame.with_columns(pl.when(text.is_in(EMPTY)).then(None).otherwise(text).name.keep())
    frame = frame.with_columns(pl.col(categories).cast(pl.Categorical))
    for name, dtype in frame.schema.items():
        if not dates and (dtype.is_nested() or dtype.is_temporal() or dtype in (pl.Object, pl.Binary)):
            raise InputError(
                f"Column {name!r} of {where} is of type {dtype}; make it a number or text, or leave it out."
            )
    return frame


def _named(names: list[str]) -> list[str]:
    """The names, with ``column_<position>`` (or the next number that is free) for a column that has none."""
    named = list(names)
    for position, name in enumerate(names, start=1):
        if not name:
            free = next(number for number in itertools.count(position) if f"column_{number}" not in named)
            named[position - 1] = f"column_{free}"
    return named


def _as_category(series: pl.Series) -> pl.Series:
    """A category column as categories; 1.0 and 1 are the same one, as they are in a file."""
    if series.dtype.is_float() and bool((series.drop_nulls() % 1 == 0).all()):
        series = series.cast(pl.Int64)
    return (
        series.cast(pl.String).cast(pl.Categorical)
        if series.dtype.is_numeric() or series.dtype == pl.String
        else series
    )
