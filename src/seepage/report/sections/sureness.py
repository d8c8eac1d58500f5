"""How sure the attacker may be of each column, where nobody knows the rows: a simulation of the same shape tells."""

from __future__ import annotations

from dataclasses import dataclass

from seepage.report import words
from seepage.report.section import Section
from seepage.results.updates import ColumnDoubt, UpdatesResult, UpdatesSummary

LIMIT = 240  # columns of a setting


@dataclass(frozen=True)
class SureSetting:
    """The columns of one attack on one client, sensitive ones first, then those with most to lose."""

    label: str
    columns: tuple[ColumnDoubt, ...]
    left_out: int


@dataclass(frozen=True)
class Sureness:
    """All settings, and from what the simulations drew their rows."""

    simulated: int
    settings: tuple[SureSetting, ...]
    table: bool


def sureness(summary: UpdatesSummary) -> Sureness | None:
    """Column by column; None where the rows were known, or nothing was answered."""
    known = [cell for cell in summary.cells if cell.captured and cell.measured and cell.sureness]
    if not known:
        return None
    names = words.varying([cell.place for cell in known], otherwise=("batch_size", "attack"))
    simulated = [cell.trials for cell in summary.cells if not cell.captured]
    settings = tuple(_setting(cell, words.label(cell.place, names)) for cell in known)
    return Sureness(max(simulated, default=0), settings, any("the table" in note for note in summary.dataset.notes))


def _setting(cell: UpdatesResult, label: str) -> SureSetting:
    ordered = sorted(cell.sureness, key=lambda each: (not each.sensitive, -(each.gain or 0.0), each.name))
    return SureSetting(label, tuple(ordered[:LIMIT]), max(len(ordered) - LIMIT, 0))


SECTION: Section[UpdatesSummary] = Section(
    name="sureness",
    title="How sure the attacker may be of each column",
    short="Sureness",
    studies=(UpdatesSummary,),
    place=40,
    view=sureness,
)
