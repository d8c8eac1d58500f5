"""How finely the share can be told: every meta-model, and accuracy over the number of ranges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from seepage.report import words
from seepage.report.figure import Figure, axis, curve, dotted, error_bars, line_color, means, numbers
from seepage.report.level import Level
from seepage.report.section import Section
from seepage.report.shares import cell_level, loss_of
from seepage.results.cells import Coordinate
from seepage.results.property import PropertyResult, PropertySummary

_FIXED = ("classes", "loss", "hierarchy")  # columns of the table of their own


@dataclass(frozen=True, kw_only=True)
class MetaModelLine:
    """One meta-model: what it is called, and how well it names ranges."""

    label: str
    loss: str
    level: Level
    result: PropertyResult


@dataclass(frozen=True, kw_only=True)
class Granularity:
    """All meta-models; the curve where there are several cuts."""

    every: tuple[MetaModelLine, ...]
    hierarchical: bool
    shares: bool
    figure: Figure | None


def granularity(summary: PropertySummary) -> Granularity | None:
    """How finely; nothing if there is no meta-model."""
    if not summary.cells:
        return None
    places = [{name: value for name, value in cell.place.items() if name not in _FIXED} for cell in summary.cells]
    names = words.varying(places, otherwise=("defense",))
    every = tuple(
        MetaModelLine(label=words.label(place, names), loss=loss_of(cell), level=cell_level(cell), result=cell)
        for place, cell in zip(places, summary.cells, strict=True)
    )
    return Granularity(
        every=every,
        hierarchical=any(cell.hierarchy for cell in summary.cells),
        shares=any(cell.share for cell in summary.cells),
        figure=_figure([cell for cell in summary.cells if cell.measured]),
    )


def _figure(cells: Sequence[PropertyResult]) -> Figure | None:
    """Accuracy over the number of ranges, one line for each loss and setting."""
    if len({cell.classes for cell in cells}) < 2:
        return None
    lines: dict[tuple[tuple[str, Coordinate], ...], list[PropertyResult]] = {}
    for cell in cells:
        rest = tuple((name, value) for name, value in cell.place.items() if name != "classes")
        lines.setdefault(rest, []).append(cell)
    names = words.varying([dict(rest) for rest in lines], otherwise=("loss",))
    traces = []
    for number, (rest, points) in enumerate(lines.items()):
        ordered = sorted(points, key=lambda cell: cell.classes)
        right = [cell.accuracy for cell in ordered]
        cuts: list[JsonValue] = [str(cell.classes) for cell in ordered]
        bars = error_bars(right, line_color(number), 100)
        hover = "%{x} ranges: %{y:.0f} %<extra>%{fullData.name}</extra>"
        name = words.label(dict(rest), names)
        traces.append(curve(name, number, cuts, means(right, 100), error_y=bars, hovertemplate=hover))
    guesses = dict(sorted({cell.classes: cell.guessing for cell in cells}.items()))
    every: list[JsonValue] = [str(classes) for classes in guesses]
    traces.append(dotted("guessing", every, numbers(guesses.values(), 100)))
    return Figure(
        name="plot-granularity",
        description="Line plot of the share of models named rightly over the number of ranges, "
        f"{words.plural(len(lines), 'line')}; the table holds the numbers.",
        traces=traces,
        x=axis("ranges", type="category", categoryorder="array", categoryarray=every, showgrid=True),
        y=axis("models named rightly, %", range=[-2, 102], showgrid=True),
        height=380 + 18 * len(lines),
    )


SECTION = Section(
    name="granularity",
    title="How finely the share can be told",
    short="How finely",
    studies=(PropertySummary,),
    place=20,
    view=granularity,
)
