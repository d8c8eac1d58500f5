"""What every attack of one party on another read, beside the attacker alone, a guess, and the price of the defence."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import JsonValue

from seepage.report import words
from seepage.report.figure import (
    LABEL_LENGTH,
    Figure,
    Json,
    axis,
    dots,
    error_bars,
    means,
    named_places,
    texts,
)
from seepage.report.level import Level, level_of
from seepage.report.section import Section
from seepage.report.sections.parties_verdict import gain_of
from seepage.results.parties import PartiesResult, PartiesSummary

SHOWN = 20  # attacks in a figure; the table has all
_SETTING = ("dataset", "design", "guests", "defense", "variant")
TITLES = {
    "columns": "The host, of a guest's columns",
    "labels": "A guest, of the host's labels",
}


@dataclass(frozen=True, kw_only=True)
class Line:
    """One attack in one setting."""

    setting: str
    attack: str
    cell: PartiesResult
    level: Level

    @property
    def is_share(self) -> bool:
        """Whether it is a share of cells, and not an AUC."""
        return self.cell.reads == "columns"


@dataclass(frozen=True, kw_only=True)
class Target:
    """All attacks on columns, or all on labels."""

    title: str
    lines: tuple[Line, ...]
    figure: Figure | None


@dataclass(frozen=True, kw_only=True)
class PartyAttacks:
    """Every attack, by what it reads."""

    targets: tuple[Target, ...]

    @property
    def figures(self) -> tuple[Figure, ...]:
        """Those that there are, for a notebook."""
        return tuple(target.figure for target in self.targets if target.figure)


def party_attacks(summary: PartiesSummary) -> PartyAttacks | None:
    """All attacks; nothing if there were none."""
    if not summary.cells:
        return None
    places = [{name: cell.place[name] for name in _SETTING} for cell in summary.cells]
    names = words.varying(places, always=("design", "defense"))
    lines = [
        Line(
            setting=words.label(place, names),
            attack=words.spec(cell.attack),
            cell=cell,
            level=level_of(cell, cell.judged.get("gain")),
        )
        for place, cell in zip(places, summary.cells, strict=True)
    ]
    found = {reads: tuple(line for line in lines if line.cell.reads == reads) for reads in TITLES}
    return PartyAttacks(
        targets=tuple(
            Target(title=TITLES[reads], lines=own, figure=_figure(reads, own)) for reads, own in found.items() if own
        )
    )


def _figure(reads: str, lines: tuple[Line, ...]) -> Figure | None:
    """Read, alone and guess of every attack, those that gained most."""
    shown = sorted((line for line in lines if line.cell.measured), key=lambda line: -gain_of(line.cell))[:SHOWN]
    if not shown:
        return None
    places: list[JsonValue] = list(range(len(shown)))
    scale = 100.0 if reads == "columns" else 1.0

    def trace(metric: str, name: str, color: str, symbol: str) -> Json:
        values = [line.cell.metrics[metric] for line in shown]
        bars = error_bars(values, color, scale)
        return dots(name, color, symbol, 9, x=means(values, scale), y=places, error_x=bars)

    return Figure(
        name=f"plot-parties-{reads}",
        description="Dots for what each attack read, what the attacker has alone, and a guess; the table has them.",
        traces=[
            trace("guess", "guess", "var(--muted)", "diamond"),
            trace("alone", "alone", "var(--guess)", "square"),
            trace("read", "read", "var(--attack)", "circle"),
        ],
        x=axis("cells right, %" if reads == "columns" else "ROC AUC of labels", showgrid=True),
        y=named_places(texts((f"{line.attack}, {line.setting}" for line in shown), LABEL_LENGTH)),
        height=140 + 26 * len(shown),
        width=440,
    )


SECTION = Section(
    name="party_attacks",
    title="What each attack read",
    short="Attacks",
    studies=(PartiesSummary,),
    place=20,
    view=party_attacks,
)
