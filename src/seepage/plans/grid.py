"""Grids and cases: every combination of values, with a name for each."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from seepage._core import InputError

MANY = ("grid", "cases")
MOST = 50_000  # cells of a plan: at a second each they are half a day, and all of them are held in memory


def combinations(
    values: Mapping[str, Any], is_said: Callable[[str], bool], known: Callable[[Mapping[str, Any], str], dict[str, Any]]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every combination of a plan's cases and grid: its name, and the values it changes. They are counted first.

    Args:
        values: of the plan.
        is_said: whether a cell says this setting itself, so that the name need not.
        known: checks keys and brings them into one way of writing; told where they stand.
    """
    grid, cases = _grid(values.get("grid") or {}, known), _cases(values.get("cases") or [], known)
    check_count(math.prod(map(len, grid.values())) * max(1, len(cases)))
    return _combined(grid, cases or [{}], is_said)


def check_count(cells: int) -> None:
    """Stop with a sentence if a plan has more cells than can be held; nothing of it was made yet."""
    if cells > MOST:
        raise InputError(
            f"The plan has {cells:,} cells or more, and at most {MOST:,} go into one plan; give its lists fewer "
            "values, or write several plans."
        )


def _combined(
    grid: Mapping[str, list[Any]], cases: Sequence[Mapping[str, Any]], is_said: Callable[[str], bool]
) -> Iterator[tuple[str, dict[str, Any]]]:
    for case in cases:
        for chosen in itertools.product(*grid.values()):
            own = dict(zip(grid, chosen, strict=True))
            changes = {key: value for key, value in case.items() if key != "name"} | own
            unsaid = [_said(key, value) for key, value in case.items() if not is_said(key)]
            words = [str(case["name"])] if "name" in case else unsaid
            words += [_said(key, value) for key, value in own.items() if not is_said(key)]
            yield ", ".join(words), changes


def _grid(grid: Any, known: Callable[[Mapping[str, Any], str], dict[str, Any]]) -> dict[str, list[Any]]:
    if not isinstance(grid, Mapping):
        raise InputError("The plan's 'grid' is a table: keys with lists of values.")
    for key, listed in grid.items():
        if not isinstance(listed, list | tuple) or not listed:
            raise InputError(f"{key!r} in the plan's grid is {listed!r}; it must be a list of values.")
    return {key: list(listed) for key, listed in known(grid, "the plan's grid").items()}


def _cases(cases: Any, known: Callable[[Mapping[str, Any], str], dict[str, Any]]) -> list[dict[str, Any]]:
    if not isinstance(cases, Sequence) or not all(isinstance(case, Mapping) for case in cases):
        raise InputError("The plan's 'cases' are tables: [[cases]] with keys below.")
    checked = []
    for case in cases:
        name = {"name": case["name"]} if "name" in case else {}
        checked.append(name | known({key: value for key, value in case.items() if key != "name"}, "the plan's cases"))
    return checked


def _said(key: str, value: Any) -> str:
    return f"{key}={str(value).lower() if isinstance(value, bool) else value}"
