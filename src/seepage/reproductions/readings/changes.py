"""Two guests instead of five, as a share of the value with five."""

from __future__ import annotations

from collections.abc import Iterator
from math import exp, hypot, log

from seepage.reproductions.plan_result import PlanResult, number_of
from seepage.reproductions.readings.grouping import together
from seepage.reproductions.stored import Comparison
from seepage.results import Interval
from seepage.results.training import TrainingResult

FEW, MANY = 2, 5


def read_changes(result: PlanResult) -> Iterator[Comparison]:
    """One comparison for each data set, design and metric."""
    cells = [cell for cell in result.cells if isinstance(cell, TrainingResult)]
    for same in together(cells, lambda cell: (cell.dataset, cell.design)):
        by_guests = {cell.guests: cell for cell in same}
        if not {FEW, MANY} <= by_guests.keys():
            continue
        few, many = by_guests[FEW], by_guests[MANY]
        place = {name: value for name, value in result.place(few).items() if name != "guests"}
        for ours, theirs in result.table.metrics.items():
            one, other = number_of(few, ours), number_of(many, ours)
            change = None if one is None or other is None else _change(one, other)
            yield result.compare(few, theirs, change, result.beside(few, theirs), place=place)


def _change(one: Interval, other: Interval) -> Interval:
    """The relative change of one mean from another, both positive and of separate runs.

    Distances to the ends of the two intervals add up as squares, on the scale of logarithms, where a ratio is a
    difference (Zou and Donner 2008, for differences). Without both intervals there is none.
    """
    ratio = one.mean / other.mean
    if one.low is None or one.high is None or other.low is None or other.high is None:
        return Interval(ratio - 1, None, None)
    down = hypot(log(one.mean / one.low), log(other.high / other.mean))
    up = hypot(log(one.high / one.mean), log(other.mean / other.low))
    return Interval(ratio - 1, ratio * exp(-down) - 1, ratio * exp(up) - 1)
