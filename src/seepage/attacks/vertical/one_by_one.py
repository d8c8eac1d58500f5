"""`exact` on single gradients of vertical learning: no ids are needed, and weights may move.

To a server the gradient of an aligned batch is a gradient of a batch like any other. Whoever hides which people are in
a batch hides whose rows they are, not the rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch

from seepage._core import Outcome, Progress, Streams, silent
from seepage.attacks.attack import attacked
from seepage.attacks.exact import Exact
from seepage.observation import Claim, Exchange, Observation
from seepage.observation.vertical import VerticalScene, VerticalUpdate

SAME = 1e-2  # inputs that differ less are the same row, read twice


@dataclass(frozen=True, kw_only=True)
class OneByOne:
    """Attack some batches one by one with :class:`Exact`, without using who is in them.

    Args:
        batches: how many; 0 for as many as hold everyone once, at most 64.
        restarts, steps: of the optimisation of what algebra leaves.

    References:
        ``docs/explanation/exact-inversion.md``.

    Example:
        >>> OneByOne().batches
        0
    """

    batches: int = 0
    restarts: int = 5
    steps: int = 300

    def start(self, scene: VerticalScene, streams: Streams, *, progress: Progress = silent) -> SingleReader:
        """An attack that is fed batch by batch."""
        most = self.batches or min(64, math.ceil(scene.rows / scene.batch_size))
        return SingleReader(Exact(restarts=self.restarts, steps=self.steps), scene, streams, most)


class SingleReader:
    """Keeps the first batches; reads them when it is asked."""

    def __init__(self, exact: Exact, scene: VerticalScene, streams: Streams, most: int) -> None:
        self._exact, self._scene, self._streams, self._most = exact, scene, streams, most
        self._kept: list[Observation] = []

    def see(self, update: VerticalUpdate) -> None:
        """Take one batch. Who is in it is not used."""
        update.check(self._scene)
        if len(self._kept) < self._most:
            size = len(update.rows)
            self._kept.append(
                Observation(
                    learner=self._scene.learner,
                    space=self._scene.space,
                    parameters=update.parameters,
                    update=update.gradient,
                    exchange=Exchange(protocol="fedsgd", rows=size, batch_size=size),
                )
            )

    def claims(self) -> list[Claim]:
        """One claim about all people, in no order: it is not known whose rows they are."""
        answers = [claim for claim in attacked(self._exact, self._kept, self._streams) if claim.rows is not None]
        if not answers:
            return [Claim(outcome=Outcome.NOT_APPLICABLE, note="No row could be read of a single batch.")]
        rows = np.concatenate([claim.rows for claim in answers if claim.rows is not None])
        proven = np.concatenate([_proven(claim) for claim in answers])
        rows, proven = _distinct(rows, proven, self._scene.rows)
        found, missing = len(rows), self._scene.rows - len(rows)
        return [
            Claim(
                outcome=Outcome.BUDGET_SPENT if missing or not proven.all() else Outcome.OK,
                rows=np.concatenate([rows, np.zeros((missing, rows.shape[1]))]),
                certified=np.concatenate([proven, np.zeros(missing, dtype=bool)]),
                determined=np.arange(self._scene.rows) < found,
                note=f"{found} rows were read of {len(self._kept)} batches, one by one, {int(proven.sum())} of them "
                "certified; whose they are was not asked.",
            )
        ]


def _proven(claim: Claim) -> np.ndarray:
    assert claim.rows is not None
    return np.zeros(len(claim.rows), dtype=bool) if claim.certified is None else claim.certified


def _distinct(rows: np.ndarray, proven: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Every row once, proven ones first, and no more than there are people."""
    order = np.argsort(~proven, kind="stable")
    rows, proven = rows[order], proven[order]
    apart = torch.cdist(torch.from_numpy(rows), torch.from_numpy(rows), p=torch.inf).numpy()
    kept = ~np.triu(apart < SAME, 1).any(0)
    return rows[kept][:most], proven[kept][:most]
