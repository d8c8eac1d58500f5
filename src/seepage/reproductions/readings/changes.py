"""Two guests instead of five, as a share of the value with five."""

from __future__ import annotations

from collections.abc import Iterator

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
            change = None if one is None or other is None else Interval(one.mean / other.mean - 1, None, None)
            yield result.compare(few, theirs, change, result.beside(few, theirs), place=place)
