"""Means over batch sizes."""

from __future__ import annotations

from collections.abc import Iterator

from seepage.reproductions.plan_result import PlanResult, number_of
from seepage.reproductions.readings.grouping import mean_over, together
from seepage.reproductions.stored import Comparison
from seepage.results.rows import RowsResult

RANGE = "1..128"  # how the profiling study writes its batch sizes together


def read_means(result: PlanResult) -> Iterator[Comparison]:
    """One comparison for each model, attack, attack point and metric."""
    cells = [cell for cell in result.cells if isinstance(cell, RowsResult)]
    for same in together(cells, lambda cell: (cell.dataset, cell.model, cell.attack, cell.attack_point)):
        first = same[0]
        place = {name: value for name, value in result.place(first).items() if name != "batch"}
        for ours, theirs in result.table.metrics.items():
            numbers = [number_of(cell, ours) for cell in same]
            number, count = mean_over(None if each is None else each.mean for each in numbers)
            beside = result.beside(first, theirs, told={"batch_size": RANGE})
            yield result.compare(first, theirs, number, beside, place=place, trials=count)
