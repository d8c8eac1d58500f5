"""Two runs side by side: what became better, what worse, and what only one of them has."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from seepage.results.gate import said

COORDINATES = ("dataset", "protocol", "model", "batch_size", "defense", "variant", "attack_point", "attack")


@dataclass(frozen=True)
class Difference:
    """One metric of one cell in both runs. ``clear`` if the intervals leave no doubt that it differs."""

    cell: str
    metric: str
    first: float
    second: float
    clear: bool

    @property
    def change(self) -> float:
        return self.second - self.first


@dataclass(frozen=True)
class Comparison:
    """Differences of common cells, the largest first, and the cells of one run alone."""

    differences: tuple[Difference, ...]
    only_first: tuple[str, ...]
    only_second: tuple[str, ...]


def compare(
    first: Sequence[dict[str, Any]], second: Sequence[dict[str, Any]], metrics: Sequence[str] = ("accuracy", "emr")
) -> Comparison:
    """The cells of two summaries, matched by what was tested."""
    one, two = _by_place(first), _by_place(second)
    found = []
    for place in one.keys() & two.keys():
        for metric in metrics:
            before, after = one[place]["metrics"].get(metric), two[place]["metrics"].get(metric)
            if before is None or after is None:
                continue
            clear = abs(after["mean"] - before["mean"]) > math.hypot(_spread(before), _spread(after))
            measured = before["low"] is not None and after["low"] is not None
            found.append(Difference(said(one[place]), metric, before["mean"], after["mean"], bool(clear and measured)))
    return Comparison(
        tuple(sorted(found, key=lambda each: (-abs(each.change), each.cell, each.metric))),
        tuple(said(one[place]) for place in one if place not in two),
        tuple(said(two[place]) for place in two if place not in one),
    )


def _by_place(cells: Sequence[dict[str, Any]]) -> dict[tuple[Any, ...], dict[str, Any]]:
    return {tuple(cell.get(name, "") for name in COORDINATES): cell for cell in cells}


def _spread(interval: dict[str, float | None]) -> float:
    """Half the interval; 0 where there is none."""
    low, high = interval["low"], interval["high"]
    return 0.0 if low is None or high is None else (high - low) / 2
