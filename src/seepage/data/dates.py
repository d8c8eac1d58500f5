"""Dates and times as people write them, as numbers: days or seconds since 1970, minutes or seconds since midnight."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import polars as pl

Order = Literal["day_first", "month_first"]

_ISO = ("%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d", "%Y%m%d")
_NAMED = ("%d %b %Y", "%d-%b-%Y", "%d. %b %Y", "%b %d, %Y", "%b %d %Y", "%d %B %Y", "%B %d, %Y", "%d-%b-%y")
_ORDERED: dict[Order, tuple[str, ...]] = {
    "day_first": ("%d.%m.%Y", "%d/%m/%Y", "%d-%m-%Y", "%d.%m.%y", "%d/%m/%y", "%d-%m-%y"),
    "month_first": ("%m/%d/%Y", "%m-%d-%Y", "%m/%d/%y", "%m-%d-%y"),
}
_CLOCK = ("%H:%M", "%H:%M:%S", "%H:%M:%S%.f", "%I:%M %p", "%I:%M:%S %p", "%I:%M%p")
_SAMPLE = 256
_LIKELY = r"^\s*\d{1,4}\s*[-/.: ]\s*[\dA-Za-z]|^\s*\d{8}$|^\s*[A-Za-z]{3,9}\.? \d"
_EARLIEST, _LATEST = -138_061, 84_006  # 1592 and 2200, in days: what is outside is hardly a date in a table of people


@dataclass(frozen=True, kw_only=True)
class Moments:
    """A column of dates or times as numbers.

    Args:
        values: whole numbers; empty where a cell is no date.
        unit: what they count, in words.
        what: ``date``, ``date and time`` or ``time``.
        order: which of day and month comes first, if that had to be found out; ``either`` order fits if ``doubtful``.
        doubtful: the other order fits every cell as well.
        short_years: years are written with two digits.
    """

    values: pl.Series
    unit: str
    what: str
    order: Order | None = None
    doubtful: bool = False
    short_years: bool = False


def dates_in(text: pl.Series, order: Order | None = None, *, most: bool = False) -> Moments | None:
    """The dates (with or without a time of day) of a column, or nothing if it has other cells.

    Args:
        text: the column's text.
        order: of day and month, where digits leave it open; found from all cells if not given.
        most: some cells may be something else; they become empty.
    """
    present = text.drop_nulls()
    if not len(present) or not present.head(_SAMPLE).str.contains(_LIKELY).any():
        return None
    orders = [order] if order else list(_ORDERED)
    found: list[Moments] = []
    for each in (None, *orders):
        made = _in_formats(text, _ISO + _NAMED if each is None else _ORDERED[each], each, most)
        if made is not None:
            found.append(made)
        if each is None and found:
            return found[0]
    if not found:
        return None
    best = max(found, key=lambda each: -each.values.null_count())
    even = len(found) > 1 and found[0].values.null_count() == found[1].values.null_count()
    return Moments(**{**best.__dict__, "doubtful": even and not found[0].values.equals(found[1].values)})


def _in_formats(text: pl.Series, formats: tuple[str, ...], order: Order | None, most: bool) -> Moments | None:
    sample = text.drop_nulls()
    sample = sample.gather_every(max(1, len(sample) // _SAMPLE))
    timed = bool(sample.str.contains(r"\d:\d").any())
    for date in formats:
        for clock in [f"{joint}{clock}" for clock in _CLOCK for joint in (" ", "T")] if timed else [""]:
            head = _parsed(sample, date + clock, timed)
            if head.null_count() > (len(sample) // 2 if most else 0) or not _plausible(head):
                continue
            values = _parsed(text, date + clock, timed)
            if values.null_count() == text.null_count() or most:
                return _counted(values, order, short_years="%y" in date)
    return None


def _parsed(text: pl.Series, form: str, timed: bool) -> pl.Series:
    text = text.str.strip_chars()
    if not timed:
        return text.str.strptime(pl.Date, form, strict=False)
    if form.endswith(("%S", "%f")) and text.str.contains(r"(?:Z|[+-]\d\d:?\d\d)$").any():
        text = text.str.replace(r"Z$", "+00:00")
        return text.str.strptime(pl.Datetime("us"), form + "%z", strict=False).dt.replace_time_zone(None)
    return text.str.strptime(pl.Datetime("us"), form, strict=False)


def _plausible(values: pl.Series) -> bool:
    days = values.drop_nulls().cast(pl.Date).to_physical()
    return bool(len(days)) and bool(days.is_between(_EARLIEST, _LATEST).all())


def _counted(values: pl.Series, order: Order | None = None, *, short_years: bool = False) -> Moments:
    if values.dtype == pl.Date:
        days = values.to_physical().cast(pl.Int64)
        return Moments(values=days, unit="days since 1970", what="date", order=order, short_years=short_years)
    seconds = values.cast(pl.Datetime("us")).to_physical() // 1_000_000
    seconds, unit = _coarser(seconds)
    return Moments(
        values=seconds, unit=f"{unit} since 1970", what="date and time", order=order, short_years=short_years
    )


def times_in(text: pl.Series, *, most: bool = False) -> Moments | None:
    """The times of day of a column, or nothing if it has other cells."""
    sample = text.drop_nulls().head(_SAMPLE)
    if not len(sample) or not sample.str.contains(r"^\s*\d{1,2}:\d\d").any():
        return None
    for clock in _CLOCK:
        head = sample.str.strip_chars().str.strptime(pl.Time, clock, strict=False)
        if head.null_count() > (len(sample) // 2 if most else 0):
            continue
        values = text.str.strip_chars().str.strptime(pl.Time, clock, strict=False)
        if values.null_count() == text.null_count() or most:
            return moments_of(values)
    return None


def moments_of(values: pl.Series) -> Moments:
    """A column that has dates, times or durations by its type."""
    if values.dtype == pl.Duration:
        seconds, unit = _coarser(values.dt.total_seconds())
        return Moments(values=seconds, unit=unit, what="duration")
    if values.dtype != pl.Time:
        return _counted(values)
    seconds, unit = _coarser(values.to_physical() // 1_000_000_000)
    return Moments(values=seconds, unit=f"{unit} since midnight", what="time")


def _coarser(seconds: pl.Series) -> tuple[pl.Series, str]:
    """Minutes where no cell has seconds: a number should have the digits that the table has."""
    if bool((seconds.drop_nulls() % 60 == 0).all()):
        return seconds // 60, "minutes"
    return seconds, "seconds"
