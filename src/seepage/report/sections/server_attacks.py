"""What every attack of a cheating server read by the number of rows, and what a client could notice beside it."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import JsonValue

from seepage.report import words
from seepage.report.figure import Figure, axis, curve, means, numbers
from seepage.report.level import Level
from seepage.report.section import Section
from seepage.report.sections.servers_verdict import level
from seepage.results.servers import ServersResult, ServersSummary

_SETTING = ("dataset", "protocol", "model", "batch_size", "rounds", "variant")
CHECKS = {
    "shapes": "names and shapes against the agreed model",
    "copies": "neurons with the direction of another",
    "zeros": "weights that are exactly zero",
    "sizes": "neurons of very different sizes in one layer",
    "scale": "a layer far from the size of drawn weights",
    "biases": "biases that are large beside their weights",
    "jump": "a jump since the round before",
    "echoes": "neurons that say the same of own rows",
    "alone": "own rows that stand alone in a neuron",
}


@dataclass(frozen=True, kw_only=True)
class Line:
    """One attack in one setting."""

    setting: str
    attack: str
    cell: ServersResult
    level: Level

    @property
    def checks(self) -> str:
        """The checks that raise an alarm, in words."""
        return "; ".join(CHECKS[name] for name in self.cell.checks) or "none"


@dataclass(frozen=True, kw_only=True)
class Notice:
    """What a client could see of one attack."""

    attack: str
    sentences: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class ServerAttacks:
    """Every attack, a picture over the number of rows, and what could be noticed."""

    lines: tuple[Line, ...]
    notices: tuple[Notice, ...]
    figure: Figure | None

    @property
    def figures(self) -> tuple[Figure, ...]:
        """For a notebook."""
        return (self.figure,) if self.figure else ()


def server_attacks(summary: ServersSummary) -> ServerAttacks | None:
    """All attacks; nothing if there were none."""
    if not summary.cells:
        return None
    places = [{name: cell.place[name] for name in _SETTING} for cell in summary.cells]
    names = words.varying(places, always=("protocol", "batch_size"))
    lines = tuple(
        Line(setting=words.label(place, names), attack=words.spec(cell.attack), cell=cell, level=level(cell))
        for place, cell in zip(places, summary.cells, strict=True)
    )
    seen = {cell.attack: cell.notices for cell in summary.cells if cell.notices}
    notices = tuple(Notice(attack=words.spec(attack), sentences=each) for attack, each in seen.items())
    return ServerAttacks(lines=lines, notices=notices, figure=_figure(summary))


def _figure(summary: ServersSummary) -> Figure | None:
    """Rows read over rows there are, a line for each attack and what else differs."""
    known = [cell for cell in summary.cells if cell.measured]
    if len({cell.batch_size for cell in known}) < 2:
        return None
    kinds = [{name: cell.place[name] for name in (*_SETTING, "attack") if name != "batch_size"} for cell in known]
    names = words.varying(kinds, always=("attack",))
    groups: dict[str, list[ServersResult]] = {}
    for kind, cell in zip(kinds, known, strict=True):
        groups.setdefault(words.label(kind, names), []).append(cell)
    traces = []
    for number, (name, cells) in enumerate(groups.items()):
        own = sorted(cells, key=lambda cell: cell.batch_size)
        x: list[JsonValue] = numbers(float(cell.batch_size) for cell in own)
        traces.append(curve(name, number, x, means([cell.metrics.get("exact") for cell in own], 100.0)))
    return Figure(
        name="plot-servers",
        description="Lines for the share of rows that each attack read exactly, over the rows behind an update; the "
        "table has them.",
        traces=traces,
        x=axis("rows behind an update", type="log"),
        y=axis("rows read exactly, %", rangemode="tozero"),
        height=360,
        width=440,
    )


SECTION = Section(
    name="server_attacks",
    title="What a cheating server read, and what a client could notice",
    short="Attacks",
    studies=(ServersSummary,),
    place=20,
    view=server_attacks,
)
