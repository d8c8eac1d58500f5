"""The baselines alone, over all models and attack points of a batch size."""

from __future__ import annotations

from collections.abc import Iterator

from seepage.reproductions.plan_result import PlanResult, guess_of, shown
from seepage.reproductions.readings.grouping import mean_over, together
from seepage.reproductions.stored import Comparison
from seepage.results.rows import RowsResult


def read_baselines(result: PlanResult) -> Iterator[Comparison]:
    """One comparison for each data set, batch size and baseline."""
    cells = [cell for cell in result.cells if isinstance(cell, RowsResult)]
    for same in together(cells, lambda cell: (cell.dataset, cell.batch_size)):
        first = same[0]
        for ours, theirs in result.table.guesses.items():
            guesses = [guess_of(cell, ours) for cell in same]
            number, count = mean_over(None if guess is None else guess.mean for guess in guesses)
            place = {
                "data": shown(result.dataset, first.dataset),
                "batch": str(first.batch_size),
                "method": theirs,
            }
            beside = result.beside(first, "accuracy", method=theirs)
            yield result.compare(first, "accuracy", number, beside, place=place, trials=count)
