"""How sure the attacker may be of each column, where nobody knows the rows: a simulation of the same shape tells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from seepage.report import words
from seepage.report.figure import Figure, axis, dots, means, named_places, text
from seepage.report.section import Section
from seepage.results.updates import ColumnDoubt, UpdatesResult, UpdatesSummary

LIMIT = 240  # columns of a setting
DRAWN = 24  # of them in a plot
PLOTS = 4
SETTINGS = 4  # that are shown one by one; a capture of many rounds has hundreds
LABEL_LENGTH = 34


@dataclass(frozen=True)
class SureSetting:
    """The columns of one attack on one client, sensitive ones first, then those with most to lose."""

    label: str
    columns: tuple[ColumnDoubt, ...]
    left_out: int
    figure: Figure | None


@dataclass(frozen=True)
class Sureness:
    """All settings, and from what the simulations drew their rows."""

    simulated: int
    every: tuple[SureSetting, ...]
    table: bool
    left_out: int = 0


def sureness(summary: UpdatesSummary) -> Sureness | None:
    """Column by column; None where the rows were known, or nothing was answered."""
    known = [cell for cell in summary.cells if cell.captured and cell.measured and cell.sureness]
    if not known:
        return None
    names = words.varying([cell.place for cell in known], otherwise=("batch_size", "attack"))
    simulated = [cell.trials for cell in summary.cells if not cell.captured]
    shown = enumerate(known[:SETTINGS])
    settings = tuple(_setting(cell, words.label(cell.place, names), place) for place, cell in shown)
    table = any("the table" in note for note in summary.dataset.notes)
    return Sureness(max(simulated, default=0), settings, table, max(len(known) - SETTINGS, 0))


def _setting(cell: UpdatesResult, label: str, place: int) -> SureSetting:
    ordered = sorted(cell.sureness, key=lambda each: (not each.sensitive, -(each.gain or 0.0), each.name))
    figure = _figure(ordered[:DRAWN], place) if place < PLOTS else None
    return SureSetting(label, tuple(ordered[:LIMIT]), max(len(ordered) - LIMIT, 0), figure)


def _figure(columns: Sequence[ColumnDoubt], place: int) -> Figure | None:
    """Share of each column's cells that are right, estimated, beside the best guess."""
    known = [each for each in columns if each.expected]
    if not known:
        return None
    places: list[JsonValue] = list(range(len(known)))
    hover: dict[str, JsonValue] = {"hovertemplate": "%{x:.0f} %<extra>%{fullData.name}</extra>", "y": places}
    guessed, read = means((each.guess for each in known), 100), means((each.expected for each in known), 100)
    labels: list[JsonValue] = [text(each.name, LABEL_LENGTH) for each in known]
    return Figure(
        name=f"plot-sureness-{place}",
        description=f"Dot plot of {words.plural(len(known), 'column')}: the share of cells that are right by the "
        "simulation, beside the best guess. The table below holds the same numbers.",
        traces=[
            dots("best guess in the simulation", "var(--prior)", "diamond", 9, x=guessed, **hover),
            dots("right, estimated", "var(--attack)", "circle", 11, x=read, **hover),
        ],
        x=axis("share of cells right, %", range=[-2, 102], showgrid=True),
        y=named_places(labels),
        height=130 + 26 * len(known),
        layout={"legend": {"traceorder": "reversed"}},
    )


SECTION: Section[UpdatesSummary] = Section(
    name="sureness",
    title="How sure the attacker may be of each column",
    short="Sureness",
    studies=(UpdatesSummary,),
    place=42,
    view=sureness,
)
