"""What every attack of one party on another read, beside the attacker alone, a guess, and the price of the defence."""

from __future__ import annotations

from dataclasses import dataclass

from seepage.report import words
from seepage.report.level import Level, level_of
from seepage.report.section import Section
from seepage.results.parties import PartiesResult, PartiesSummary

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
class PartyAttacks:
    """Every attack, by what it reads."""

    by_target: dict[str, tuple[Line, ...]]


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
    targets = {TITLES[reads]: tuple(line for line in lines if line.cell.reads == reads) for reads in TITLES}
    return PartyAttacks(by_target={title: found for title, found in targets.items() if found})


SECTION = Section(
    name="party_attacks",
    title="What each attack read",
    short="Attacks",
    studies=(PartiesSummary,),
    place=20,
    view=party_attacks,
)
