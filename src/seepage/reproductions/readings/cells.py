"""Every cell by itself, and the paper's baselines once for all attacks of a place."""

from __future__ import annotations

from collections.abc import Iterator

from seepage.reproductions.plan_result import PlanResult, number_of
from seepage.reproductions.stored import Comparison
from seepage.results.row_numbers import RowNumbers


def read_cells(result: PlanResult) -> Iterator[Comparison]:
    """One comparison for each cell and metric."""
    guessed: set[tuple[tuple[str, str], ...]] = set()
    for cell in result.summary.cells:
        for ours, theirs in result.table.metrics.items():
            yield result.compare(cell, theirs, number_of(cell, ours), result.beside(cell, theirs))
        if isinstance(cell, RowNumbers) and result.table.guesses:
            place = {name: value for name, value in result.place(cell).items() if name != "attack"}
            if tuple(place.items()) not in guessed:
                guessed.add(tuple(place.items()))
                yield from read_guesses(result, cell)


def read_guesses(result: PlanResult, cell: RowNumbers) -> Iterator[Comparison]:
    """What guessing gets where this cell stands, if the paper has a number for it."""
    for ours, theirs in result.table.guesses.items():
        beside = result.beside(cell, "accuracy", method=theirs)
        if beside is not None:
            place = result.place(cell) | {"attack": theirs}
            yield result.compare(cell, "accuracy", cell.baselines.get(ours), beside, place=place)
