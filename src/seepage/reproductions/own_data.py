"""The user's own copies of data sets in a plan, in place of what stands in for them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pydantic import JsonValue

from seepage._core import InputError
from seepage.data.registry import DATASETS
from seepage.reproductions.narrowing import Values, grid_of


def with_own_data(
    values: Mapping[str, JsonValue], own: Mapping[str, str], paths: Mapping[str, Path]
) -> tuple[Values, tuple[str, ...]]:
    """A plan with the user's files, and the data sets that had to be left out because no file was given.

    Args:
        own: data sets that the user's own copy of another one replaces.
        paths: the user's files, by data set.
    """
    grid = grid_of(values)
    listed = grid.get("data", [values.get("data")])
    asked = [str(name) for name in (listed if isinstance(listed, list) else [listed])]
    names = [own[name] if own.get(name) in paths else name for name in asked]
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
