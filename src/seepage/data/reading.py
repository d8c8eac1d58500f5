"""What the cells of somebody's own table mean: each column is read as numbers, categories or dates, and why is said.

The rules are few, look at the whole column, and can be overruled (``--as``, see :data:`WORDS`):

- digits with leading zeros are codes, so categories; so are whole numbers in a column named like a postcode;
- cells that are numbers in one style (decimal point or comma, grouped thousands, percent and currency signs) are
  numbers;
- yes and no in any spelling are two categories;
- dates, dates with a time and times of day become whole numbers;
- a column that is nearly all numbers is one of numbers, and its other cells are empty;
- everything else is text, so categories.

Where two readings fit every cell (1.234, or 03/04/2024), other columns of the file decide; if they do not, one is
chosen and a note says how to choose the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import polars as pl

from seepage._core import InputError, unknown_name
from seepage.data.dates import Moments, Order, dates_in, moments_of, times_in
from seepage.data.flags import as_flags
from seepage.data.frames import as_numbers_if_it_reads_so
from seepage.data.numbers import STYLES, has_leading_zero, numbers_in, unmarked
from seepage.data.read_as_said import read_as_said
from seepage.data.read_column import Evidence, Reading, as_categories, asked, cleaned, read_moments
from seepage.data.read_numbers import FEW, is_postcode, read_numbers, read_plain_numbers, read_postcodes
from seepage.data.request import WORDS


def read_columns(frame: pl.DataFrame, said: Mapping[str, str], separator: str = "") -> list[Reading]:
    """Every column of a frame, read.

    Args:
        frame: text as a file has it, or typed columns; empty cells are null.
        said: column name -> one of :data:`WORDS`; ``leave_out`` columns are not read.
        separator: of the file, if it was text.
    """
    check_said(said, frame.columns)
    columns = [series for series in frame.get_columns() if said.get(series.name) != "leave_out"]
    first = [_read(series, said.get(series.name), Evidence(separator=separator)) for series in columns]
    styles = {each.style for each in first if each.style and not each.doubt}
    orders = {each.order for each in first if each.order and not each.doubt}
    evidence = Evidence(
        style=styles.pop() if len(styles) == 1 else None,
        order=orders.pop() if len(orders) == 1 else None,
        separator=separator,
    )
    return [
        _read(series, said.get(series.name), evidence) if each.doubt else each
        for series, each in zip(columns, first, strict=True)
    ]


def check_said(said: Mapping[str, str], columns: list[str]) -> None:
    """Stop with a sentence at a column that is not there or a word that is none."""
    for name, word in said.items():
        if name not in columns:
            raise unknown_name("column in --as", name, columns)
        if word not in WORDS:
            raise unknown_name(f"reading of column {name!r}", word, WORDS)


def _read(series: pl.Series, word: str | None, evidence: Evidence) -> Reading:
    if word is not None:
        return read_as_said(series, word)
    if series.dtype != pl.String:
        return _typed(series)
    numbers = as_numbers_if_it_reads_so(series)
    written_nan = numbers.dtype.is_float() and bool(numbers.is_nan().any())  # as text it is an empty cell
    if numbers.dtype != pl.String and not written_nan:
        return read_plain_numbers(series, numbers, evidence)
    text = cleaned(series)
    if text.null_count() == len(text):
        return Reading(values=text, read_as="nothing", why="no cell is filled")
    numbers = as_numbers_if_it_reads_so(text)
    if numbers.dtype != pl.String:
        return read_plain_numbers(text, numbers, evidence)
    flags = as_flags(text)
    if flags is not None:
        return _flags(flags, text)
    return read_numbers(text, evidence) or _dates_or_times(text, evidence) or _text(text)


def _flags(flags: pl.Series, text: pl.Series) -> Reading:
    """A column of yes and no."""
    spellings = text.drop_nulls().n_unique()
    why = "yes and no" if spellings == 2 else f"yes and no in {spellings} spellings"
    return Reading(values=flags, read_as="yes/no", why=why)


def _typed(series: pl.Series) -> Reading:
    if series.dtype.is_temporal():
        return read_moments(moments_of(series), "of this type in the file")
    if series.dtype == pl.Boolean:
        return Reading(values=series, read_as="yes/no", why="of this type in the file")
    if series.dtype.is_numeric():
        if is_postcode(series):
            return read_postcodes(series)
        return Reading(values=series, read_as="number", why="of this type in the file")
    if series.dtype in (pl.Categorical, pl.Enum, pl.Null):
        empty = series.null_count() == len(series)
        return Reading(values=series, read_as="nothing" if empty else "category", why="of this type in the file")
    raise InputError(
        f"Column {series.name!r} is of type {series.dtype}; make it a number or text, or leave it out "
        f"({asked(series.name, 'leave_out')})."
    )


def _dates_or_times(text: pl.Series, evidence: Evidence) -> Reading | None:
    moments = dates_in(text)
    if moments is None:
        times = times_in(text)
        return read_moments(times, "times of day") if times is not None else None
    if not moments.doubtful:
        return read_moments(moments, _why_dates(moments))
    comma = evidence.style == "decimal_comma" or (evidence.style is None and evidence.separator == ";")
    order: Order = evidence.order or ("day_first" if comma else "month_first")
    chosen = dates_in(text, order)
    assert chosen is not None  # both orders fit
    reading = read_moments(chosen, _why_dates(chosen) + (", as in other columns" if evidence.order else ""))
    if evidence.order:
        return replace(reading, doubt=True)
    other = "month_first" if order == "day_first" else "day_first"
    note = (
        f"Day and month of {text.name!r} cannot be told apart: no number is above 12. The "
        f"{order.split('_')[0]} is taken to come first; if it does not: {asked(text.name, other)}."
    )
    return replace(reading, notes=(*reading.notes, note), doubt=True)


def _why_dates(moments: Moments) -> str:
    return "dates" + (f", {moments.order.replace('_', ' ')}" if moments.order else "")


def _text(text: pl.Series) -> Reading:
    notes: tuple[str, ...] = ()
    present = text.drop_nulls()
    if has_leading_zero(text):
        return Reading(values=as_categories(text), read_as="category", why="leading zeros", word="category")
    if present.n_unique() > FEW:
        read = len(present) - min(numbers_in(unmarked(present), style).null_count() for style in STYLES)
        if 2 * read > len(present):
            notes = (
                f"{read} of {len(present)} filled cells of {text.name!r} are numbers, too few to read it as numbers. "
                f"If it is meant so (the others become empty): {asked(text.name, 'number')}.",
            )
    return Reading(values=text, read_as="category", why="text", notes=notes)
