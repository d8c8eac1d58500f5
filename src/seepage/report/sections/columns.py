"""Which columns are at risk: how much more of each an attack read than the best guess."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from seepage.report.leaks import Leak, ReadRows, leaks_of, with_truth
from seepage.report.section import Section
from seepage.results.facts import ColumnFacts
from seepage.results.row_numbers import ColumnNumbers
from seepage.results.rows import RowsSummary
from seepage.results.updates import UpdatesSummary
from seepage.results.vertical import VerticalSummary

BLOCK = 16  # settings of the heat map side by side
COLUMNS_LIMIT = 240  # those most at risk: a page with hundreds more is slow to open, and nobody reads them
HEAT_LIMIT = 20_000  # cells of the heat map: a page with more is slow to open
SHADES = 5  # on each side of zero, see report.css
LEAST_SCALE = 0.20  # a difference of this much has the full colour, unless there are larger ones


@dataclass(frozen=True, kw_only=True)
class ColumnView:
    """One column over all settings; ``numbers`` are those of the setting where it gained most."""

    column: ColumnFacts
    gains: tuple[float | None, ...]
    numbers: ColumnNumbers | None
    where: str

    @property
    def label(self) -> str:
        """Its name, with its table where there are several."""
        return f"{self.column.name} ({self.column.dataset})" if self.column.dataset else self.column.name

    @property
    def gain(self) -> float | None:
        """The largest."""
        return max((gain for gain in self.gains if gain is not None), default=None)


@dataclass(frozen=True, kw_only=True)
class ColumnsView:
    """The columns most at risk, and a heat map of the settings that leak most."""

    every: tuple[ColumnView, ...]
    left_out: int
    settings: tuple[Leak, ...]
    settings_left_out: int
    scale: float

    @property
    def blocks(self) -> list[tuple[Leak, ...]]:
        """The settings of the heat map, as many at a time as a sheet of paper is wide."""
        return [self.settings[begin : begin + BLOCK] for begin in range(0, len(self.settings), BLOCK)]

    def shade(self, gain: float | None) -> str:
        """The class of a cell of the heat map: ``u3`` for the third shade above guessing, ``d1`` for below."""
        if gain is None:
            return "gap"
        step = min(round(SHADES * abs(gain) / self.scale), SHADES)
        return f"{'u' if gain > 0 else 'd'}{step}"


def columns(summary: ReadRows) -> ColumnsView | None:
    """The columns, sensitive ones first, then by how much more than guessing an attack read of them."""
    leaks = leaks_of(summary)
    if isinstance(summary, RowsSummary) and summary.tallies and not any(leak.measured for leak in leaks):
        return None  # of columns there are totals alone
    read = [(leak.result.dataset, {each.name: each for each in leak.result.columns}) for leak in leaks]
    views = sorted((_view(column, leaks, read) for column in summary.dataset.columns), key=_risk)
    shown = views[:COLUMNS_LIMIT]
    drawn = sorted(leaks, key=lambda leak: leak.rank, reverse=True)[: max(1, HEAT_LIMIT // max(len(shown), 1))]
    largest = max((abs(gain) for view in shown for gain in view.gains if gain is not None), default=0.0)
    return ColumnsView(
        every=tuple(shown),
        left_out=len(views) - len(shown),
        settings=tuple(sorted(drawn, key=lambda leak: leak.number)),
        settings_left_out=len(leaks) - len(drawn),
        scale=max(LEAST_SCALE, math.ceil(10 * largest - 1e-9) / 10),
    )


def _risk(view: ColumnView) -> tuple[bool, bool, float, str]:
    return not view.column.sensitive, view.gain is None, -(view.gain or 0.0), view.label


def _view(
    column: ColumnFacts, leaks: Sequence[Leak], read: Sequence[tuple[str, dict[str, ColumnNumbers]]]
) -> ColumnView:
    # Two tables may each have a column of this name.
    over = [each.get(column.name) if column.dataset in ("", table) else None for table, each in read]
    gains = tuple(numbers.gain if numbers else None for numbers in over)
    known = [place for place, gain in enumerate(gains) if gain is not None]
    top = max(known, key=lambda place: gains[place] or 0.0, default=None)
    return ColumnView(
        column=column,
        gains=gains,
        numbers=over[top] if top is not None else None,
        where=leaks[top].label if top is not None else "",
    )


SECTION: Section[ReadRows] = Section(
    name="columns",
    title="Which columns are at risk",
    short="Columns",
    studies=(RowsSummary, VerticalSummary, UpdatesSummary),
    place=40,
    view=with_truth(columns),
)
