"""What every attack read of sums, beside chance; and over the size of the cohort."""

from __future__ import annotations

from dataclasses import dataclass

from seepage.report import words
from seepage.report.figure import Figure, axis, curve, dotted, error_bars, line_color, means, numbers
from seepage.report.level import Level
from seepage.report.section import Section
from seepage.report.sections.cohorts_verdict import ONE_SUM, TITLES, level, sentence
from seepage.results.cohorts import CohortsResult, CohortsSummary

MOST_LINES = 8
_SETTING = ("dataset", "protocol", "model", "clients", "rows_each", "variant")


@dataclass(frozen=True, kw_only=True)
class Line:
    """One attack in one setting."""

    setting: str
    attack: str
    cell: CohortsResult
    level: Level


@dataclass(frozen=True, kw_only=True)
class Target:
    """All attacks that are after the same."""

    title: str
    lines: tuple[Line, ...]
    figure: Figure | None


@dataclass(frozen=True, kw_only=True)
class CohortSums:
    """Every attack, by what it is after; and the smallest cohort that hides."""

    targets: tuple[Target, ...]
    hiding: tuple[str, ...]
    caveat: str = ONE_SUM

    @property
    def figures(self) -> tuple[Figure, ...]:
        """Those that there are, for a notebook."""
        return tuple(target.figure for target in self.targets if target.figure)


def cohort_sums(summary: CohortsSummary) -> CohortSums | None:
    """All attacks; nothing if there were none."""
    if not summary.cells:
        return None
    places = [{name: cell.place[name] for name in _SETTING} for cell in summary.cells]
    names = words.varying(places)
    lines = [
        Line(
            setting=words.label(place, names),
            attack=words.spec(cell.attack),
            cell=cell,
            level=level(cell),
        )
        for place, cell in zip(places, summary.cells, strict=True)
    ]
    found = {reads: tuple(line for line in lines if line.cell.reads == reads) for reads in TITLES}
    return CohortSums(
        targets=tuple(
            Target(title=f"{title[0].upper()}{title[1:]}", lines=found[reads], figure=_figure(reads, found[reads]))
            for reads, title in TITLES.items()
            if found[reads]
        ),
        hiding=tuple(sentence(each) for each in summary.hiding),
    )


def _figure(reads: str, lines: tuple[Line, ...]) -> Figure | None:
    """Read over the size of the cohort, a line for each number of rounds; nothing where there is one size."""
    shown: dict[str, list[Line]] = {}
    for line in lines:
        if line.cell.measured:
            parts = (line.attack, words.plural(line.cell.rounds, "round"), line.setting)
            shown.setdefault(words.joined(part for part in parts if part), []).append(line)
    kept = {name: own for name, own in shown.items() if len(own) > 1}
    if not kept:
        return None
    traces = []
    for number, (name, own) in enumerate(list(kept.items())[:MOST_LINES]):
        own.sort(key=lambda line: line.cell.cohort_size)
        values = [line.cell.metrics["read"] for line in own]
        sizes = numbers(float(line.cell.cohort_size) for line in own)
        bars = error_bars(values, line_color(number), 100.0)
        traces.append(curve(name, number, sizes, means(values, 100.0), error_y=bars))
    longest = max(kept.values(), key=len)
    guesses = means([line.cell.metrics["guess"] for line in longest], 100.0)
    traces.append(dotted("by chance", numbers(float(line.cell.cohort_size) for line in longest), guesses))
    return Figure(
        name=f"plot-cohorts-{reads}",
        description="Lines for what was read over the clients of a cohort; the table has the numbers.",
        traces=traces,
        x=axis("clients of a cohort"),
        y=axis("read, %", showgrid=True),
        height=320,
        width=440,
    )


SECTION = Section(
    name="cohort_sums",
    title="What sums over cohorts give away",
    short="Sums",
    studies=(CohortsSummary,),
    place=20,
    view=cohort_sums,
)
