"""What attacks on totals say of captured updates: which categories occur, and how finely rows are counted."""

from __future__ import annotations

from dataclasses import dataclass

from seepage.report import words
from seepage.report.section import Section
from seepage.results.captured_totals import CapturedTotals, TotalsColumn
from seepage.results.updates import UpdatesSummary

SETTINGS = 4  # that are shown one by one; a capture of many rounds has hundreds
LIMIT = 240  # columns


@dataclass(frozen=True)
class SaidColumn:
    """What is said of one column, and how often such statements are right."""

    said: TotalsColumn
    known: TotalsColumn | None


@dataclass(frozen=True)
class SaidSetting:
    """One attack on one client."""

    label: str
    columns: tuple[SaidColumn, ...]
    note: str


@dataclass(frozen=True)
class TotalsSaid:
    """Every setting."""

    every: tuple[SaidSetting, ...]
    left_out: int = 0


def totals_said(summary: UpdatesSummary) -> TotalsSaid | None:
    """What is said of all rows together; None if no such attack was run."""
    own = [each for each in summary.tallies if each.captured]
    if not own:
        return None
    names = words.varying([each.place for each in own], otherwise=("batch_size", "attack"))
    shown = tuple(_setting(each, summary, words.label(each.place, names)) for each in own[:SETTINGS])
    return TotalsSaid(shown, max(len(own) - SETTINGS, 0))


def _setting(result: CapturedTotals, summary: UpdatesSummary, label: str) -> SaidSetting:
    key = {name: value for name, value in result.place.items() if name != "origin"}
    others = [each for each in summary.tallies if not each.captured and key.items() <= each.place.items()]
    known = {column.name: column for each in (others or [result]) for column in each.columns}
    columns = sorted(result.columns, key=lambda each: (not each.sensitive, each.name))[:LIMIT]
    note = "" if result.measured else (result.notes[0] if result.notes else "The attack gave no answer.")
    return SaidSetting(label, tuple(SaidColumn(each, known.get(each.name)) for each in columns), note)


SECTION: Section[UpdatesSummary] = Section(
    name="totals_said",
    title="What can be said of all rows together",
    short="All rows together",
    studies=(UpdatesSummary,),
    place=44,
    view=totals_said,
)
