"""The user's own copies of data sets in a plan, in place of what stands in for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import JsonValue

from seepage._core import InputError, unknown_name
from seepage.data.registry import DATASETS
from seepage.reproductions.narrowing import Values, grid_of


def check_used(plans: Sequence[Mapping[str, JsonValue]], own: Mapping[str, str], paths: Mapping[str, Path]) -> None:
    """A file that no plan of a table would read is a mistake."""
    read = [name for values in plans for name in _data_of(values)]
    usable = dict.fromkeys([*read, *(own[name] for name in read if name in own)])
    for name in paths:
        if name not in usable:
            raise unknown_name("data set of this table (--path):", name, usable)


def _data_of(values: Mapping[str, JsonValue]) -> list[str]:
    """The data sets of a plan."""
    listed = grid_of(values).get("data", [values.get("data")])
    return [str(name) for name in (listed if isinstance(listed, list) else [listed])]


def with_own_data(
    values: Mapping[str, JsonValue], own: Mapping[str, str], paths: Mapping[str, Path]
) -> tuple[Values, tuple[str, ...]]:
    """A plan with the user's files, and the data sets that had to be left out because no file was given.

    Args:
        own: data sets that the user's own copy of another one replaces.
        paths: the user's files, by data set.
    """
    grid = grid_of(values)
    names = [own[name] if own.get(name) in paths else name for name in _data_of(values)]
    missing = tuple(name for name in names if DATASETS[name].source == "your own copy" and name not in paths)
    there = [name for name in names if name not in missing]
    if not there:
        raise InputError(f"This needs your own copy of {' or '.join(missing)}: --path {missing[0]}=FILE.")
    plain: Values = {key: value for key, value in values.items() if key not in ("data", "grid")}
    rest: Values = {key: value for key, value in grid.items() if key != "data"}
    if len(there) == 1:
        given: Values = {"path": str(paths[there[0]])} if there[0] in paths else {}
        return plain | {"data": there[0]} | given | ({"grid": rest} if rest else {}), missing
    if not any(name in paths for name in there):
        data: list[JsonValue] = [*there]
        return plain | {"grid": {"data": data, **rest}}, missing
    # A path belongs to one data set, so each is a case; its name keeps the path out of the names of cells.
    cases: list[JsonValue] = [
        {"name": name, "data": name, "path": str(paths[name])} if name in paths else {"data": name} for name in there
    ]
    return plain | {"cases": cases} | ({"grid": rest} if rest else {}), missing
