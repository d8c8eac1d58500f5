r"""Entries only one client touches: a rare category moves its column just when the client that has it takes part.

In a sum the column of a category is :math:`\sum \delta_i` over the rows that have it, whosever they are. If only one
client has it, the column is that client's own at any size of the cohort: hiding in a crowd does not hide it. Over
changing cohorts the rounds in which the column moves tell who it is. No row needs to be read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from seepage._core import NotApplicable, Outcome, Progress, Streams, silent
from seepage.attacks.cohorts.attack import Reads, Watching
from seepage.attacks.cohorts.categories import check_categories, states_of
from seepage.attacks.cohorts.owners import owner_of
from seepage.observation import Claim
from seepage.observation.sums import CohortSum, SumScene


@dataclass(frozen=True, kw_only=True)
class LoneEntries:
    """Name the client that has a category, from the rounds in which its weights move and those in which they rest.

    Guarantees:
        A named client has a row with that category, if clients train on the same rows in every round.

    References:
        ``docs/explanation/sums.md``.

    Example:
        >>> LoneEntries().reads
        'entries'
    """

    reads: ClassVar[Reads] = "entries"
    rerun: ClassVar[bool] = False

    def start(self, scene: SumScene, streams: Streams, *, progress: Progress = silent) -> Watching:
        """An attacker that waits for all rounds."""
        check_categories(scene)
        return Watching(_attributed)


def _attributed(sums: Sequence[CohortSum]) -> Claim:
    if len({each.cohort for each in sums}) < 2:
        raise NotApplicable("All sums are over the same cohort; who of it has a category, only other cohorts tell.")
    cohorts = [each.cohort for each in sums]
    owners = tuple(np.array([owner_of(column, cohorts) for column in states.T]) for states in states_of(sums))
    told = sum(int((each >= 0).sum()) for each in owners)
    return Claim(outcome=Outcome.OK, entry_owners=owners, note=f"{told} categories have an owner.")
