"""How a column was read: what it holds now, why, and what a person should know about it."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

import polars as pl

from seepage.data.dates import Moments, Order
from seepage.data.numbers import Style
from seepage.data.schema import Kind

ABSENT = ("n/a", "#n/a", "null", "nan", "<na>")  # an empty cell in any column, in small or capital letters


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How one column was read.

    Args:
        values: the cells as they are used from here on: numbers, text or categories.
        read_as: in a word or two, for people.
        why: one short reason.
        word: the ``--as`` that asks for this reading, where a plain reader would find another.
        kind: the schema's kind, where it does not follow from the values.
        unit: what numbers that were dates or times count.
        unread: cells that are not what the column is; they are empty now.
        notes: what a person should know, one sentence each.
        style, order: what the column says about decimals and dates in this file; for columns in doubt.
        doubt: other columns of the file may decide better.
    """

    values: pl.Series
    read_as: str
    why: str
    word: str = ""
    kind: Kind | None = None
    unit: str = ""
    unread: int = 0
    notes: tuple[str, ...] = ()
    style: Style | None = None
    order: Order | None = None
    doubt: bool = False

    @property
    def name(self) -> str:
        return self.values.name


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What a file's other columns and its separator say about how it was written."""

    style: Style | None = None
    order: Order | None = None
    separator: str = ""


def asked(name: str, word: str) -> str:
    """The option that asks for a reading, as it is typed."""
    return f"--as {shlex.quote(f'{name}={word}')}"


def cleaned(series: pl.Series) -> pl.Series:
    """Text without blanks at its ends; words that say that there is nothing are empty cells."""
    text = series.str.strip_chars()
    absent = (text.str.len_chars() <= 4) & text.str.to_lowercase().is_in(["", "?", "na", *ABSENT])
    # "na" in small letters may be a word; "NA" was an empty cell before it came here.
    absent = absent & (text != "na")
    return text.set(absent, None) if absent.any() else text


def as_categories(text: pl.Series) -> pl.Series:
    """Text that stays text although it reads as numbers."""
    return text.cast(pl.Categorical)


def read_moments(moments: Moments, why: str) -> Reading:
    notes: tuple[str, ...] = ()
    if moments.short_years:
        notes = (
            f"Years of {moments.values.name!r} have two digits: 69 to 99 are of the 20th century, others of the 21st.",
        )
    word = "time" if moments.what in ("time", "duration") else moments.order or "date"
    return Reading(
        values=moments.values,
        read_as=moments.what,
        why=why,
        word=word,
        unit=moments.unit,
        notes=notes,
        order=moments.order,
    )
