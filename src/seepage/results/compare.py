"""Two runs side by side: what became better, what worse, and what only one of them has."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from seepage._core import InputError
from seepage.results.cells import Coordinate
from seepage.results.gate import said
from seepage.results.interval import Interval
from seepage.results.summary import HEADLINE, Result, Summary


@dataclass(frozen=True)
class Difference:
    """One metric of one cell in both runs. ``clear`` if the intervals leave no doubt that it differs."""

    cell: str
    metric: str
    first: float
    second: float
    clear: bool

    @property
    def change(self) -> float:
        return self.second - self.first


@dataclass(frozen=True)
class Comparison:
    """Differences of common cells, the largest first, and the cells of one run alone."""

    differences: tuple[Difference, ...]
    only_first: tuple[str, ...]
    only_second: tuple[str, ...]


def compare(first: Summary, second: Summary) -> Comparison:
    """The cells of two summaries of one study, matched by what was tested."""
    if first.study != second.study:
        raise InputError(
            f"One run is of the study {first.study}, the other of {second.study}: their numbers are of different "
            "things. Compare runs of one study."
        )
    one, two = _by_place(first.cells), _by_place(second.cells)
    found = []
    for place in one.keys() & two.keys():
        for metric in HEADLINE[first.study]:
            before, after = _number(one[place], metric), _number(two[place], metric)
            if before is None or after is None:
                continue
            clear = abs(after.mean - before.mean) > math.hypot(_spread(before), _spread(after))
            measured = before.low is not None and after.low is not None
            found.append(Difference(said(one[place]), metric, before.mean, after.mean, bool(clear and measured)))
    return Comparison(
        tuple(sorted(found, key=lambda each: (-abs(each.change), each.cell, each.metric))),
        tuple(said(one[place]) for place in one if place not in two),
        tuple(said(two[place]) for place in two if place not in one),
    )


def _by_place(cells: Sequence[Result]) -> dict[tuple[tuple[str, Coordinate], ...], Result]:
    return {tuple(cell.place.items()): cell for cell in cells}


def _number(cell: Result, metric: str) -> Interval | None:
    return cell.metrics[metric] if metric in cell.metrics else cell.judged.get(metric)


def _spread(interval: Interval) -> float:
    """Half the interval; 0 where there is none."""
    return 0.0 if interval.low is None or interval.high is None else (interval.high - interval.low) / 2
