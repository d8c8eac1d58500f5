"""The same cohort over several rounds is one client over several rounds: what one round hides, two may show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from seepage._core import NotApplicable, Outcome, Progress, Streams, silent
from seepage.attacks.cohorts.attack import Reads, Watching
from seepage.attacks.exact import ExactRounds
from seepage.observation import Claim
from seepage.observation.sums import CohortSum, SumScene


@dataclass(frozen=True, kw_only=True)
class StackedSums:
    """Lay the sums over one cohort on top of each other and read them as one puzzle (``exact/rounds.py``).

    Guarantees:
        As those of :class:`~seepage.attacks.exact.ExactRounds`: a certified row is behind every one of these sums.

    Args:
        nodes, leaves, starts, turns: as in :class:`~seepage.attacks.exact.ExactRounds`.

    References:
        ``docs/explanation/sums.md``.

    Example:
        >>> StackedSums(starts=2).reads
        'rows'
    """

    nodes: int = ExactRounds.nodes
    leaves: int = ExactRounds.leaves
    starts: int = ExactRounds.starts
    turns: int = ExactRounds.turns
    reads: ClassVar[Reads] = "rows"
    rerun: ClassVar[bool] = False

    def __post_init__(self) -> None:
        self._rounds()

    def _rounds(self) -> ExactRounds:
        return ExactRounds(nodes=self.nodes, leaves=self.leaves, starts=self.starts, turns=self.turns)

    def start(self, scene: SumScene, streams: Streams, *, progress: Progress = silent) -> Watching:
        """An attacker that waits for all rounds."""
        return Watching(partial(self._answer, streams=streams, progress=progress))

    def _answer(self, sums: Sequence[CohortSum], streams: Streams, progress: Progress) -> Claim:
        cohorts = {each.cohort for each in sums}
        if len(sums) < 2 or len(cohorts) > 1:
            raise NotApplicable(
                f"There are {len(sums)} sums over {len(cohorts)} different cohorts; rounds are laid on top of each "
                "other where the same cohort took part in several."
            )
        claim = self._rounds()([each.as_update() for each in sums], streams, progress=progress)[0]
        return nothing_read(sums[0], claim.note) if claim.rows is None else claim


def nothing_read(seen: CohortSum, why: str) -> Claim:
    """An attack that was mounted and gave up has read nothing: that is a number, and not left out of a mean."""
    rows = seen.exchange.rows
    return Claim(
        outcome=Outcome.BUDGET_SPENT,
        rows=np.zeros((rows, seen.space.layout.width), dtype=np.float32),
        certified=np.zeros(rows, dtype=bool),
        note=why,
    )
