"""Parts of a table that were run one after the other, as one table: a long one can have several sittings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from seepage._core import InputError
from seepage.reproductions.stored import Comparison, ReproducedTable, read_table, stored_file


def store(table: ReproducedTable, folder: Path, *, part: bool) -> Path:
    """Write a table to ``<folder>/<paper>/<table>.json``; a part of one is added to what is there."""
    file = stored_file(folder, table.paper, table.table)
    whole = joined(read_table(file), table) if part and file.exists() else table
    return whole.write(file)


def check_fits(file: Path, scale: float, seed: int) -> None:
    """Tell before the work that a part will not fit what is stored."""
    if not file.exists():
        return
    there = read_table(file)
    if (there.scale, there.runs[0].seed) != (scale, seed):
        raise InputError(
            f"{file} holds {there.scale:g} of the published work with seed {there.runs[0].seed}, and a part of "
            f"{scale:g} with seed {seed} does not go with it: store it in another folder, or run the whole table to "
            "replace it."
        )


def joined(there: ReproducedTable, part: ReproducedTable) -> ReproducedTable:
    """A table with the cells of a further part. A cell that both have is the part's; the date is the part's too.

    The causes of differences that are kept for a table name its date, so they are looked at again.
    """
    cells = {_key(cell): cell for table in (there, part) for cell in _with_common(table)}
    common, apart = split_common(_ordered(list(cells.values())))
    runs = {(run.plan, repr(run.settings)): run for run in (*there.runs, *part.runs)}
    return part.model_copy(
        update={
            "command": "\n".join(dict.fromkeys([*there.command.splitlines(), *part.command.splitlines()])),
            "runs": tuple(runs.values()),
            "differs": tuple(dict.fromkeys([*there.differs, *part.differs])),
            "common": common,
            "cells": tuple(apart),
        }
    )


def split_common(cells: Sequence[Comparison]) -> tuple[dict[str, str], list[Comparison]]:
    """What all cells have in common, and the cells without it."""
    names = list(dict.fromkeys(name for cell in cells for name in cell.place))
    values = {name: {cell.place.get(name) for cell in cells} for name in names}
    common = {name: str(next(iter(values[name]))) for name in names if len(values[name]) == 1}
    return common, [
        cell.model_copy(update={"place": {name: value for name, value in cell.place.items() if name not in common}})
        for cell in cells
    ]


def _with_common(table: ReproducedTable) -> Iterator[Comparison]:
    for cell in table.cells:
        yield cell.model_copy(update={"place": {**table.common, **cell.place}})


def _ordered(cells: list[Comparison]) -> list[Comparison]:
    """By batch size, where there is one: parts may have been run in any order."""
    sizes = [cell.place.get("batch", "") for cell in cells]
    return sorted(cells, key=lambda cell: int(cell.place["batch"])) if all(map(str.isdecimal, sizes)) else cells


def _key(cell: Comparison) -> tuple[object, ...]:
    return (cell.metric, *sorted(cell.place.items()))
