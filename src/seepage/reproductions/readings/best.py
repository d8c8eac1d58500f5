"""The best of several losses in each place, picked by its squared error as the property-inference thesis does."""

from __future__ import annotations

from collections.abc import Iterator

from seepage.reproductions.plan_result import PlanResult, number_of
from seepage.reproductions.readings.grouping import together
from seepage.reproductions.stored import Comparison
from seepage.results.property import PropertyResult


def read_best(result: PlanResult) -> Iterator[Comparison]:
    """One comparison for each variant, cut and metric; its place names the loss that was picked."""
    cells = [cell for cell in result.cells if isinstance(cell, PropertyResult)]
    for same in together(cells, lambda cell: (cell.dataset, cell.variant, cell.classes, cell.hierarchy)):
        best = min(same, key=lambda cell: cell.mse.mean)
        for ours, theirs in result.table.metrics.items():
            yield result.compare(best, theirs, number_of(best, ours), result.beside(best, theirs))
