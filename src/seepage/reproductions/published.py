"""Numbers that papers print, each with where it stands and what is behind it."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources


@dataclass(frozen=True, kw_only=True)
class Published:
    """One number of a paper.

    Args:
        setting: what is behind it, by name.
        value: None where the paper prints a range or a word.
        spread: its standard deviation, where the paper has one.
    """

    table: str
    dataset: str
    model: str
    method: str
    setting: dict[str, str]
    metric: str
    value: float | None
    spread: float | None
    unit: str


@lru_cache
def published_numbers(file: str) -> tuple[Published, ...]:
    """Every number of a paper, from ``published/<file>.csv``."""
    text = resources.files(__package__).joinpath("published", f"{file}.csv").read_text(encoding="utf-8")
    return tuple(
        Published(
            table=row["table"].removeprefix("Table "),
            dataset=row["dataset"],
            model=row["model"],
            method=row["method"],
            setting=dict(part.split("=", 1) for part in row["setting"].split(";") if "=" in part),
            metric=row["metric"],
            value=_number(row["value"]),
            spread=_number(row["std"]),
            unit=row["unit"],
        )
        for row in csv.DictReader(text.splitlines())
    )


@lru_cache
def numbers_of(file: str, table: str) -> tuple[Published, ...]:
    """Every number of one table."""
    return tuple(number for number in published_numbers(file) if number.table == table)


def unit_of(file: str, table: str, metric: str) -> str:
    """The unit in which a table prints a metric; empty where it does not print it."""
    units = {number.unit for number in numbers_of(file, table) if number.metric == metric}
    return units.pop() if len(units) == 1 else ""


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """Which number of a table stands beside a cell of ours.

    Args:
        metric, dataset, method, model: as the paper calls them; None for any.
        behind: what is behind our cell, by the paper's name of a setting; None where we cannot say.
    """

    metric: str
    dataset: str | None
    method: str | None
    model: str | None
    behind: Callable[[str], str | None]

    def among(self, numbers: Sequence[Published], ignored: Collection[str] = ()) -> Published | None:
        """The number all of whose settings are those of our cell, or None where the paper has none."""
        for number in numbers:
            named = ((self.dataset, number.dataset), (self.method, number.method), (self.model, number.model))
            if number.metric != self.metric or any(ours not in (None, theirs) for ours, theirs in named):
                continue
            settings = {key: value for key, value in number.setting.items() if key not in ignored}
            if all(_same(self.behind(key), value) for key, value in settings.items()):
                return number
        return None


def _same(ours: str | None, theirs: str) -> bool:
    """Whether two texts say the same: 1e-4 is 0.0001."""
    if ours is None or ours == theirs:
        return ours == theirs
    one, other = _number(ours), _number(theirs)
    return one is not None and one == other


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
