"""Columns as the user wants them read."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, get_args

import polars as pl

from seepage._core import InputError
from seepage.data.dates import Order, dates_in, moments_of, times_in
from seepage.data.flags import as_truth
from seepage.data.frames import as_numbers_if_it_reads_so
from seepage.data.numbers import STYLES, Style, has_leading_zero, numbers_in, unmarked
from seepage.data.read_column import Reading, as_categories, asked, cleaned, read_moments


def read_as_said(series: pl.Series, word: str) -> Reading:
    """A column as the user wants it; cells that cannot be read so become empty, which is said."""
    why = f"asked for ({word})"
    if word == "category":
        return _said_category(series, why)
    text = cleaned(series) if series.dtype == pl.String else None
    if word in ("number", *STYLES):
        values, style = _said_numbers(series, text, word)
        reading = Reading(values=values, read_as="number", why=why, word=word, kind="numeric", style=style)
    elif text is None and series.dtype.is_temporal():
        reading = replace(read_moments(moments_of(series), why), word=word, kind="numeric")
    else:
        order: Any = word if word in get_args(Order) else None
        source = text if text is not None else series.cast(pl.String)
        moments = times_in(source, most=True) if word == "time" else dates_in(source, order, most=True)
        if moments is None:
            raise _cannot(series, "time of day" if word == "time" else "date")
        reading = replace(read_moments(moments, why), word=word, kind="numeric")
    before = (text if text is not None else series).null_count()
    unread = reading.values.null_count() - before
    if reading.values.null_count() == len(series):
        raise _cannot(series, "number" if reading.read_as == "number" else reading.read_as)
    if not unread:
        return reading
    cells = f"{unread} of {len(series) - before} filled cells"
    note = f"{cells} of {series.name!r} cannot be read as asked ({word}) and count as empty."
    return replace(reading, unread=unread, notes=(*reading.notes, note))


def _said_category(series: pl.Series, why: str) -> Reading:
    if series.dtype.is_temporal():
        series = series.cast(pl.String)
    values = series
    if series.dtype == pl.String:
        text = cleaned(series)
        numbers = as_numbers_if_it_reads_so(text)
        # Plain numbers stay so, to be ordered as such: 9 comes before 10.
        values = numbers if numbers.dtype == pl.Int64 and not has_leading_zero(text) else as_categories(text)
    return Reading(values=values, read_as="category", why=why, word="category", kind="categorical")


def _said_numbers(series: pl.Series, text: pl.Series | None, word: str) -> tuple[pl.Series, Style | None]:
    if series.dtype == pl.Boolean:
        return series.cast(pl.Int64), None
    if series.dtype.is_numeric():
        return series, None
    if series.dtype.is_temporal():
        return moments_of(series).values, None
    if text is None:
        text = cleaned(series.cast(pl.String))
    if word == "number":
        truth = as_truth(text)
        if truth is not None:
            return truth, None
    bare = unmarked(text)
    styles: tuple[Style, ...] = (word,) if word in STYLES else STYLES
    style = min(styles, key=lambda each: numbers_in(bare, each).null_count())
    return numbers_in(bare, style), style


def _cannot(series: pl.Series, what: str) -> InputError:
    name = series.name
    return InputError(
        f"No cell of column {name!r} can be read as a {what}; use {asked(name, 'category')} or "
        f"{asked(name, 'leave_out')}."
    )
