"""The rows that ``exact`` reads from each sum, and what all sums tell together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from seepage._core import Progress, Streams
from seepage.attacks.exact import Exact
from seepage.attacks.exact.certificate import SAME
from seepage.observation import Claim
from seepage.observation.sums import CohortSum


@dataclass(frozen=True, kw_only=True)
class Budget:
    """What ``exact`` may spend on a sum: its own options, with a shorter end.

    The rows of a sum that algebra leaves are hardly ever read by optimisation, so its end is short by default.

    Args:
        steps, restarts: of the optimisation at the end.
        start_steps, starts: of the short ones that give first guesses.
        turns: how often peeling goes on.
        compile: as in :class:`~seepage.attacks.Inversion`.

    Example:
        >>> Budget().turns
        8
    """

    steps: int = 100
    restarts: int = 2
    start_steps: int = 300
    starts: int = 10
    turns: int = 8
    compile: Literal["no", "yes", "auto"] = "no"

    def __post_init__(self) -> None:
        self.exact()

    def exact(self) -> Exact:
        """The attack on one update."""
        names = ("steps", "restarts", "start_steps", "starts", "turns", "compile")
        return Exact(**{name: getattr(self, name) for name in names})


def read_each(exact: Exact, sums: Sequence[CohortSum], streams: Streams, progress: Progress) -> list[Claim]:
    """A claim for each sum; those over equally many rows are read together."""
    groups: dict[int, list[int]] = {}
    for place, each in enumerate(sums):
        groups.setdefault(each.exchange.rows, []).append(place)
    found: dict[int, Claim] = {}
    for rows, places in groups.items():
        updates = [sums[place].as_update() for place in places]
        found |= dict(zip(places, exact(updates, streams.child(rows), progress=progress), strict=True))
    return [found[place] for place in range(len(sums))]


def rows_behind(sums: Sequence[CohortSum]) -> int:
    """Rows of all clients that took part, as the server counts them: clients of a cohort have equally many."""
    shares = [each.exchange.rows / len(each.cohort) for each in sums]
    clients = {client for each in sums for client in each.cohort}
    return round(max(shares) * len(clients))


def distinct(rows: np.ndarray) -> np.ndarray:
    """Places of the first of each group of equal rows."""
    kept: list[int] = []
    for place, row in enumerate(rows):
        if not kept or bool((np.abs(rows[kept] - row).max(1) > SAME).all()):
            kept.append(place)
    return np.array(kept, dtype=int)


def certified_rows(claim: Claim) -> np.ndarray:
    """(rows, width) what a claim proves."""
    if claim.rows is None or claim.certified is None:
        width = 0 if claim.rows is None else claim.rows.shape[1]
        return np.zeros((0, width))
    proven: np.ndarray = claim.rows[claim.certified]
    return proven


def proven_in_all(claims: Sequence[Claim]) -> np.ndarray:
    """(rows, width) what the claims prove, each row once."""
    parts = [part for part in map(certified_rows, claims) if len(part)]
    if not parts:
        return np.zeros((0, 0))
    every = np.concatenate(parts)
    once: np.ndarray = every[distinct(every)]
    return once


def with_owner(claim: Claim, owner: int) -> Claim:
    """The same claim, about the rows of one client."""
    return claim if claim.rows is None else replace(claim, owners=np.full(len(claim.rows), owner))
