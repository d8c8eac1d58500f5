"""Leakage along one dimension, everything else equal: batch size, moment of the attack, defence, model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from pydantic import JsonValue

from seepage.report import words
from seepage.report.axes import Axis, axes_of
from seepage.report.figure import Figure, axis, curve, dotted, error_bars, line_color, means, numbers, text
from seepage.report.leaks import Leak, ReadRows, leaks_of
from seepage.report.section import Section
from seepage.results import Interval
from seepage.results.cells import Coordinate
from seepage.results.rows import RowsSummary
from seepage.results.vertical import VerticalSummary

MANY_LINES = 8
_GROUPS = ("batch_size", "defense", "model", "attack", "attack_point", "watched")  # what many lines are put together by
Rest = tuple[tuple[str, Coordinate], ...]
V = TypeVar("V")


@dataclass(frozen=True)
class Series:
    """One line of a trend; None where the setting was not tested or not measured."""

    name: str
    values: tuple[Interval | None, ...]


BLOCK = 10  # steps of a table side by side


@dataclass(frozen=True, kw_only=True)
class Trend:
    """Leakage along one dimension. ``families`` says which neighbours belong together: only those are joined."""

    dimension: str
    title: str
    axis: str
    ticks: tuple[str, ...]
    families: tuple[str, ...]
    series: tuple[Series, ...]
    guess: tuple[float | None, ...]
    sentence: str

    @property
    def blocks(self) -> list[range]:
        """The steps, as many at a time as a sheet of paper is wide."""
        return [range(begin, min(begin + BLOCK, len(self.ticks))) for begin in range(0, len(self.ticks), BLOCK)]

    @property
    def figure(self) -> Figure | None:
        return _figure(self)


@dataclass(frozen=True)
class Trends:
    """All dimensions of which several values were tested."""

    every: tuple[Trend, ...]


def trends(summary: ReadRows) -> Trends | None:
    """Leakage over each dimension of which several values were tested; nothing if there is none."""
    leaks = leaks_of(summary)
    utility = summary.utility if isinstance(summary, RowsSummary) else ()
    every = [_trend(axis, leaks) for axis in axes_of(leaks, {entry.model: entry.parameters for entry in utility})]
    return Trends(tuple(every)) if every else None


def _trend(axis: Axis, leaks: Sequence[Leak]) -> Trend:
    lines: dict[Rest, dict[Coordinate, Leak]] = {}
    for leak in leaks:
        rest = tuple((name, value) for name, value in leak.place.items() if name != axis.dimension)
        lines.setdefault(rest, {})[leak.place[axis.dimension]] = leak
    names = words.varying([dict(rest) for rest in lines])
    series = {
        rest: Series(
            words.label(dict(rest), names) or "all settings",
            tuple(line[step].accuracy if step in line else None for step in axis.steps),
        )
        for rest, line in lines.items()
    }
    return Trend(
        dimension=axis.dimension,
        title=axis.title,
        axis=axis.axis,
        ticks=tuple(axis.tick(step) for step in axis.steps),
        families=tuple(axis.family(step) for step in axis.steps),
        series=_few(series),
        guess=tuple(_mean_guess(leaks, axis.dimension, step) for step in axis.steps),
        sentence=_sentence(axis, list(series.values())),
    )


def _few(series: Mapping[Rest, Series]) -> tuple[Series, ...]:
    """At most eight lines: if there are more, the worst of those that share a batch size, or a defence, and so on."""
    if len(series) <= MANY_LINES:
        return tuple(series.values())
    for dimension in _GROUPS:
        groups: dict[Coordinate, list[Series]] = {}
        for rest, line in series.items():
            groups.setdefault(dict(rest).get(dimension, ""), []).append(line)
        if 1 < len(groups) <= MANY_LINES:
            return tuple(
                _worst(f"{words.coordinate(dimension, value)}, worst of {len(lines)}", lines)
                for value, lines in groups.items()
            )
    return (_worst(f"worst of {len(series)} settings", list(series.values())),)


def _worst(name: str, series: Sequence[Series]) -> Series:
    """The upper edge of some lines: at each step the setting that leaks most."""
    columns = zip(*(line.values for line in series), strict=True)
    return Series(name, tuple(max((v for v in column if v), key=lambda v: v.mean, default=None) for column in columns))


def _mean_guess(leaks: Sequence[Leak], dimension: str, step: Coordinate) -> float | None:
    here = [leak for leak in leaks if leak.place[dimension] == step]
    known = [leak.best_guess.mean for leak in here if leak.best_guess]
    return sum(known) / len(known) if known else None


def _sentence(axis: Axis, series: Sequence[Series]) -> str:
    if len({axis.family(step) for step in axis.steps}) > 1:
        return _extremes(axis, series)
    ends = [(line.values[0], line.values[-1]) for line in series]
    both = [(first.mean, last.mean) for first, last in ends if first and last]
    if not both:
        return "No setting was measured at both ends, so they cannot be compared."
    first, last = (sum(side) / len(both) for side in zip(*both, strict=True))
    change = "stayed the same" if abs(last - first) < 0.005 else "fell" if last < first else "rose"
    moved = "" if change == "stayed the same" else f" from {words.percent(first)} to {words.percent(last)}"
    steps = f"From {axis.in_words(axis.steps[0])} to {axis.in_words(axis.steps[-1])}"
    unsure = ", within the intervals" if moved and all(_overlap(*pair) for pair in ends) else ""
    return f"{steps}, the share of cells read {change}{moved}{_over(len(both))}{unsure}."


def _overlap(first: Interval | None, last: Interval | None) -> bool:
    """Whether two intervals share a value; where one is missing, nothing is measured that could differ."""
    if not first or not last:
        return True
    if first.low is None or first.high is None or last.low is None or last.high is None:
        return False
    return first.low <= last.high and last.low <= first.high


def _extremes(axis: Axis, series: Sequence[Series]) -> str:
    """Different kinds have no order: which let through the least and the most, over lines that have all of them."""
    complete = [[value.mean for value in line.values if value] for line in series if all(line.values)]
    if not complete:
        return "No setting was measured with all of them, so they cannot be compared."
    averages = [sum(column) / len(complete) for column in zip(*complete, strict=True)]
    least, most = averages.index(min(averages)), averages.index(max(averages))
    return (
        f"Least was read with {axis.in_words(axis.steps[least])}, {words.percent(averages[least])} of the cells, and "
        f"most with {axis.in_words(axis.steps[most])}, {words.percent(averages[most])}{_over(len(complete))}."
    )


def _over(lines: int) -> str:
    return f", on average over {lines} otherwise equal settings" if lines > 1 else ""


def _figure(trend: Trend) -> Figure | None:
    """Share of cells read along the dimension."""
    drawn = [line for line in trend.series if any(line.values)]
    if not drawn:
        return None
    ticks = _ticks(trend)
    hover = "%{y:.0f} %<extra>%{fullData.name}</extra>"
    traces = []
    for number, line in enumerate(drawn):
        # Lines stand a little apart: intervals drawn over one another cannot be read.
        shift = 0.04 * (number - (len(drawn) - 1) / 2)
        values = _apart(line.values, trend.families)
        places = numbers(_apart([place + shift for place in range(len(ticks))], trend.families))
        bars = error_bars(values, line_color(number), 100)
        traces.append(curve(line.name, number, places, means(values, 100), error_y=bars, hovertemplate=hover))
    every: list[JsonValue] = list(range(len(ticks)))
    traces.append(dotted("best guess without the update", every, numbers(trend.guess, 100), hovertemplate=hover))
    longest = max(len(part) for parts in ticks for part in parts)
    below: list[JsonValue] = ["<br>".join(parts) for parts in ticks]
    return Figure(
        name=f"plot-{trend.dimension.replace('_', '-')}",
        description=f"Line plot of the share of cells read against {trend.axis}, {words.plural(len(drawn), 'line')}. "
        f"{trend.sentence}",
        traces=traces,
        # Plotly would leave out the last label.
        x=axis(trend.axis, tickvals=every, ticktext=below, ticklabeloverflow="allow", range=[-0.4, len(ticks) - 0.6]),
        y=axis("share of cells right, %", range=[-2, 102], showgrid=True),
        height=340 + 18 * len(drawn),
        width=max(280, len(ticks) * (8 * longest + 10)),  # labels side by side; a narrow screen scrolls
    )


def _ticks(trend: Trend) -> list[list[str]]:
    """The labels below the axis in short lines: name, options, what stands in brackets."""
    every = []
    for tick, family in zip(trend.ticks, trend.families, strict=True):
        name, rest = (family, tick[len(family) :]) if family and tick.startswith(family) else ("", tick)
        parts = [name, *rest.replace(", ", ",\n").replace(" (", "\n(").splitlines()]
        every.append([text(part, 24) for part in parts if part.strip()])
    return every


def _apart(values: Sequence[V], families: Sequence[str]) -> list[V | None]:
    """The values with a gap wherever another family begins: no line joins what has no order."""
    every: list[V | None] = []
    for place, value in enumerate(values):
        every += [None] if place and families[place] != families[place - 1] else []
        every.append(value)
    return every


SECTION: Section[ReadRows] = Section(
    name="trends",
    title="What makes a difference",
    short="What makes a difference",
    studies=(RowsSummary, VerticalSummary),
    place=62,
    view=trends,
)
