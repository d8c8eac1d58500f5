"""What a gate asks for is said by the study that made the cells: the strongest attacks, and which were cut short."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from seepage.plans.budget import weaker
from seepage.results.result import Result

Ranks = tuple[tuple[str, ...], ...]
R = TypeVar("R", bound=Result)


def with_strength(
    cell: R, ranks: Ranks, study: str, options: Mapping[str, str] | None = None, *, kind: str = "attack"
) -> R:
    """A cell that says which attacks are the strongest on its choice, and how its own was cut short."""
    asked = cell.attacker == cell.knowing or any(cell.attacker in rank for rank in ranks)
    less = weaker(kind, str(cell.place[kind]), study, options) if asked else ""
    return cell.model_copy(update={"strongest": ranks, "weaker": less})
