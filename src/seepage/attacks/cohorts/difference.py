r"""A client that was absent once: sums at the same weights are linear equations in the clients' updates.

Where a round is run again because a client was lost, both sums are at the same weights: their difference is that
client's update, up to rounding. More generally sums at one model are :math:`s_r = \sum_k C_{rk} u_k` with known zeros
and ones; a client is alone as soon as some combination of the equations holds its unit vector. At other weights clients
send other updates, so sums of different rounds of a training cannot be subtracted.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np
import torch

from seepage._core import NotApplicable, Outcome, Progress, Streams, silent
from seepage.attacks.cohorts.attack import Reads, Watching
from seepage.attacks.cohorts.reading import Budget, with_owner
from seepage.observation import Claim
from seepage.observation.sums import CohortSum, SumScene

CLEAR = 1e-9  # of a unit vector that a combination may miss
LARGEST = 1e3  # weight of a sum: a combination multiplies rounding by it


@dataclass(frozen=True, kw_only=True)
class Difference(Budget):
    """Combine sums at the same weights until one client is left, and read its rows.

    Guarantees:
        What is left is that client's update, so a certified row is a row of that client.

    Args:
        most: clients that are read, those first whose equations amplify rounding least.

    References:
        ``docs/explanation/sums.md``.

    Example:
        >>> Difference().rerun
        True
    """

    most: int = 4

    reads: ClassVar[Reads] = "client"
    rerun: ClassVar[bool] = True

    def start(self, scene: SumScene, streams: Streams, *, progress: Progress = silent) -> Watching:
        """An attacker that waits for all rounds."""
        return Watching(partial(self._answer, streams=streams, progress=progress))

    def _answer(self, sums: Sequence[CohortSum], streams: Streams, progress: Progress) -> Claim:
        alone = list(itertools.islice(isolated(sums), self.most))
        if not alone:
            raise NotApplicable(
                "No combination of sums at the same weights leaves one client; sums at other weights cannot be "
                "subtracted."
            )
        claims = [
            with_owner(
                self.exact()([each.as_update()], streams.child(*each.cohort), progress=progress)[0], *each.cohort
            )
            for each in alone
        ]
        return _side_by_side(claims)


def _side_by_side(claims: Sequence[Claim]) -> Claim:
    """One claim about the rows of several clients."""
    read = [claim for claim in claims if claim.rows is not None and claim.owners is not None]
    if len(read) < 2:
        return read[0] if read else claims[0]
    proven = [
        np.zeros(len(c.owners), dtype=bool) if c.certified is None else c.certified
        for c in read
        if c.owners is not None
    ]
    done = all(each.all() for each in proven)
    return Claim(
        outcome=Outcome.OK if done else Outcome.BUDGET_SPENT,
        rows=np.concatenate([claim.rows for claim in read if claim.rows is not None]),
        certified=np.concatenate(proven),
        owners=np.concatenate([claim.owners for claim in read if claim.owners is not None]),
        note=f"{len(read)} clients are left alone by combinations of sums.",
    )


def isolated(sums: Sequence[CohortSum]) -> Iterator[CohortSum]:
    """Sums over one client that combinations of these are, those that amplify rounding least first."""
    found: list[tuple[float, CohortSum]] = []
    for group in _at_same_weights(sums):
        clients = sorted({client for each in group for client in each.cohort})
        took_part = np.array([[client in each.cohort for client in clients] for each in group], dtype=float)
        inverse = np.linalg.pinv(took_part)  # (clients, sums)
        reached = inverse @ took_part
        for place, client in enumerate(clients):
            unit = np.eye(len(clients))[place]
            weights = np.where(np.abs(inverse[place]) < CLEAR, 0.0, inverse[place])
            if np.abs(reached[place] - unit).max() < CLEAR and np.abs(weights).max() < LARGEST and len(group) > 1:
                found.append((float(np.abs(weights).sum()), _combined(group, weights, client)))
    yield from (each for _, each in sorted(found, key=lambda pair: (pair[0], pair[1].cohort)))


def _at_same_weights(sums: Sequence[CohortSum]) -> list[list[CohortSum]]:
    groups: list[list[CohortSum]] = []
    for each in sums:
        own = next((group for group in groups if group[0].same_model(each)), None)
        if own is None:
            groups.append([each])
        else:
            own.append(each)
    return groups


def _combined(group: Sequence[CohortSum], weights: np.ndarray, client: int) -> CohortSum:
    """One client's part; its labels are not told by sums of labels in some order."""
    total = {
        # Where all sums have an exact zero so has the client; a difference in float64 loses nothing more.
        name: torch.stack([weight * each.total[name].double() for weight, each in zip(weights, group, strict=True)])
        .sum(0)
        .float()
        for name in group[0].total
    }
    rows = round(float(sum(weight * each.exchange.rows for weight, each in zip(weights, group, strict=True))))
    batch = round(float(sum(weight * each.exchange.batch_size for weight, each in zip(weights, group, strict=True))))
    exchange = replace(group[0].exchange, rows=rows, batch_size=batch)
    return replace(group[0], cohort=(client,), total=total, exchange=exchange, labels=None)
