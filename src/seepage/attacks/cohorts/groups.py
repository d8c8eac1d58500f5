"""Rows grouped by client over rounds: rows that come and go together are one client's, and cohorts tell whose.

The idea is SRATTA's; what is new is that a row's presence is proven or ruled out by algebra, and that a client is named
only where logic leaves no other (``owners.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from seepage._core import NotApplicable, Outcome, Progress, Streams, silent
from seepage.attacks.cohorts.attack import Reads, Watching
from seepage.attacks.cohorts.membership import Watched
from seepage.attacks.cohorts.owners import owner_of, sole_owner_of
from seepage.attacks.cohorts.reading import Budget, proven_in_all, read_each, rows_behind
from seepage.observation import Claim
from seepage.observation.sums import CohortSum, SumScene


@dataclass(frozen=True, kw_only=True)
class Groups(Budget):
    """Read every sum, ask for every proven row in which rounds it is, and name the client that this leaves.

    Guarantees:
        A row with an owner is a row of that client, if clients train on the same rows in every round and no two clients
        have the same row. Where the proven rows are as many as there are, that no two have the same is proven too.
        Without ``distinct`` it need not hold. Only proven rows are given an owner.

    Args:
        distinct: take it for granted that no two clients have the same row.

    References:
        Marchand et al., SRATTA: Sample Re-ATTribution Attack of Secure Aggregation in Federated Learning, ICML 2023.

    Example:
        >>> Groups().reads
        'owners'
    """

    distinct: bool = True

    reads: ClassVar[Reads] = "owners"
    rerun: ClassVar[bool] = False

    def start(self, scene: SumScene, streams: Streams, *, progress: Progress = silent) -> Watching:
        """An attacker that waits for all rounds."""
        return Watching(partial(self._answer, streams=streams, progress=progress))

    def _answer(self, sums: Sequence[CohortSum], streams: Streams, progress: Progress) -> Claim:
        if len({each.cohort for each in sums}) < 2:
            raise NotApplicable("All sums are over the same cohort; who of it has a row, only other cohorts tell.")
        claims = read_each(self.exact(), sums, streams, progress)
        rows = proven_in_all(claims)
        if not len(rows):
            return Claim(
                outcome=Outcome.OK,
                rows=np.zeros((0, sums[0].space.layout.width)),
                certified=np.zeros(0, dtype=bool),
                owners=np.zeros(0, dtype=int),
                note=f"No row is proven in any of {len(sums)} sums, so none has an owner.",
            )
        watched = [Watched.of(each, claim) for each, claim in zip(sums, claims, strict=True)]
        states = np.stack([each.states(rows) for each in watched], 1)  # (rows, rounds)
        cohorts = [each.cohort for each in sums]
        alone = self.distinct or len(rows) == rows_behind(sums)
        owners = np.array([(sole_owner_of if alone else owner_of)(row, cohorts) for row in states])
        return Claim(
            outcome=Outcome.OK,
            rows=rows,
            certified=np.ones(len(rows), dtype=bool),
            owners=owners,
            note=f"{int((owners >= 0).sum())} of {len(rows)} proven rows have an owner.",
        )
