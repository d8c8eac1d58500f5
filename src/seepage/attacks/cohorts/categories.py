"""Which categories occur in a cohort: a column of the sum is at rest only if nobody of the whole cohort moves it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from seepage._core import NotApplicable, Outcome, Progress, Streams, silent
from seepage.attacks.cohorts.attack import Reads, Watching
from seepage.attacks.totals.presence import present_categories
from seepage.observation import Claim, Tally
from seepage.observation.sums import CohortSum, SumScene


@dataclass(frozen=True, kw_only=True)
class CategoriesOfSum:
    """List the categories that somebody of the watched clients has, and those that nobody has.

    References:
        ``docs/explanation/exact-inversion.md``.

    Example:
        >>> CategoriesOfSum().reads
        'categories'
    """

    reads: ClassVar[Reads] = "categories"
    rerun: ClassVar[bool] = False

    def start(self, scene: SumScene, streams: Streams, *, progress: Progress = silent) -> Watching:
        """An attacker that waits for all rounds."""
        check_categories(scene)
        return Watching(_listed)


def check_categories(scene: SumScene) -> None:
    """A sentence where a table has no categories."""
    if not scene.space.layout.sizes:
        raise NotApplicable("There are no categorical columns, so no category can be present or absent.")


def states_of(sums: Sequence[CohortSum]) -> list[np.ndarray]:
    """For each categorical column (rounds, categories) 1 present, 0 absent, -1 unknown."""
    every = [present_categories(each.as_update())[0] for each in sums]
    return [np.stack(column) for column in zip(*every, strict=True)]


def _listed(sums: Sequence[CohortSum]) -> Claim:
    """Present if it is so in some round, absent if it is so in all."""
    present = []
    for states in states_of(sums):
        there, nowhere = (states == 1).any(0), (states == 0).all(0)
        present.append(np.where(there, 1, np.where(nowhere, 0, -1)))
    return Claim(outcome=Outcome.OK, tally=Tally(present=tuple(present)))
