"""A part of a plan: what a table shows of it, and what ``--only`` leaves of that."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from pydantic import JsonValue

from seepage._core import unknown_name
from seepage.plans.grid import MANY
from seepage.plans.options import aliases
from seepage.plans.spec import written
from seepage.studies import SETTINGS

Values = dict[str, JsonValue]
Shown = Mapping[str, tuple[str, ...]]  # texts of values by coordinates of cells


def grid_of(values: Mapping[str, JsonValue]) -> Values:
    """The grid of a plan; empty if it has none."""
    grid = values.get("grid")
    return dict(grid) if isinstance(grid, dict) else {}


def with_part(values: Mapping[str, JsonValue], part: Mapping[str, JsonValue]) -> Values:
    """A plan with other values for some of its keys, in its grid where the key stands there."""
    plain, grid = dict(values), grid_of(values)
    for key, value in part.items():
        if key in grid:
            grid[key] = value if isinstance(value, list) else [value]
        else:
            plain[key] = value
    return plain | ({"grid": grid} if grid else {})


def narrowed(
    plans: Sequence[Values], only: Mapping[str, Sequence[str]], shows: Sequence[Shown] | None = None
) -> list[Values | None]:
    """What is left of the plans of a table; None for a plan that has none of the values.

    Args:
        plans: their values.
        shows: what the table shows of each, by coordinates of cells: what it does not show cannot be chosen.
        only: the texts of values that are wanted, by key. A plan without the key stays as it is.
    """
    left: list[Values | None] = list(plans)
    for asked, texts in only.items():
        choices = [_shown(plan, asked, shown) for plan, shown in zip(plans, shows or [{}] * len(plans), strict=True)]
        if not any(choices):
            known = dict.fromkeys(key for plan in plans for key in _keys(plan))
            raise unknown_name("key to choose by:", asked, known)
        for text in texts:
            if not any(text in choice for choice in choices):
                raise unknown_name(f"value of {asked} in this table:", text, [t for c in choices for t in c])
        for place, (plan, choice) in enumerate(zip(plans, choices, strict=True)):
            wanted = [choice[text] for text in texts if text in choice]
            current = left[place]
            if choice and current is not None:
                left[place] = _with(current, _key(plan, asked), wanted) if wanted else None
    return left


def _key(plan: Values, asked: str) -> str:
    """The plan's own name of a key: ``model`` is ``models``."""
    return aliases(SETTINGS[str(plan.get("study", "rows"))]).get(asked, asked)


def _shown(plan: Values, asked: str, shows: Shown) -> dict[str, JsonValue]:
    """The values of a key that the table shows, by their text."""
    key = _key(plan, asked)
    shown = next((texts for name, texts in shows.items() if _key(plan, name) == key), None)
    return {text: each for text, each in _choices(plan, key).items() if shown is None or written(each) in shown}


def _keys(plan: Values) -> list[str]:
    return [*(key for key in plan if key not in (*MANY, "study")), *grid_of(plan)]


def _choices(plan: Values, key: str) -> dict[str, JsonValue]:
    """The values of a key by their text, and a spec by its name alone where no other has it."""
    value = grid_of(plan).get(key, plan.get(key) if key in _keys(plan) else [])
    whole = {written(each): each for each in (value if isinstance(value, list) else [value])}
    names = Counter(text.partition(":")[0] for text in whole)
    short = {text.partition(":")[0]: each for text, each in whole.items()}
    return {name: each for name, each in short.items() if names[name] == 1} | whole


def _with(plan: Values, key: str, wanted: list[JsonValue]) -> Values:
    """A plan with these values of a key; one where a single value stood stays a single one."""
    single = key not in grid_of(plan) and not isinstance(plan.get(key), list)
    return with_part(plan, {key: wanted[0] if single else wanted})
