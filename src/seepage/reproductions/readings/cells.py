"""Every cell by itself, and the paper's baselines once for all attacks of a place."""

from __future__ import annotations

from collections.abc import Iterator

from seepage.reproductions.plan_result import PlanResult, guess_of, number_of
from seepage.reproductions.stored import Comparison
from seepage.results import by_rule
from seepage.results.row_numbers import RowNumbers


def read_cells(result: PlanResult) -> Iterator[Comparison]:
    """One comparison for each cell and metric."""
    guessed: set[tuple[tuple[str, str], ...]] = set()
    for cell in result.cells:
        for ours, theirs in result.table.metrics.items():
            yield result.compare(cell, theirs, number_of(cell, ours), result.beside(cell, theirs))
            for rule in result.table.matchings:
                number = number_of(cell, by_rule(ours, rule))
                if number is not None:  # doubt, for one, does not depend on it
                    place = result.place(cell) | {"matching": rule}
                    yield result.compare(cell, theirs, number, None, place=place)
        if isinstance(cell, RowNumbers) and result.table.guesses:
            place = {name: value for name, value in result.place(cell).items() if name != "attack"}
            if tuple(place.items()) not in guessed:
                guessed.add(tuple(place.items()))
                yield from read_guesses(result, cell)


def read_guesses(result: PlanResult, cell: RowNumbers) -> Iterator[Comparison]:
    """What guessing gets where this cell stands, if the paper has a number for one of the guesses."""
    published = {name: result.beside(cell, "accuracy", method=name) for name in result.table.guesses.values()}
    if not any(published.values()):
        return
    for ours, theirs in result.table.guesses.items():
        place = result.place(cell) | {"attack": theirs}
        yield result.compare(cell, "accuracy", guess_of(cell, ours), published[theirs], place=place)
        for rule in result.table.matchings:
            number = guess_of(cell, f"{rule}:{ours.rpartition(':')[2]}")
            yield result.compare(cell, "accuracy", number, None, place=place | {"matching": rule})
