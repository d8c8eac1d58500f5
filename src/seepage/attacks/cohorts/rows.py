r"""Rows read from sums: a sum over a cohort is the update of one large batch.

The sum of the gradients of clients with :math:`n_k` rows, each times :math:`n_k`, is :math:`\sum_k n_k g_k = \sum_i
\nabla \ell(x_i)` over all rows of the cohort at the same weights. So all of ``exact`` holds for it: what hides a row is
the number of rows behind the sum, not that they are several clients'. What is read belongs to *somebody* of the cohort.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from seepage._core import Outcome, Progress, Streams, silent
from seepage.attacks.cohorts.attack import Reads, Watching
from seepage.attacks.cohorts.reading import Budget, distinct, proven_in_all, read_each, rows_behind
from seepage.observation import Claim
from seepage.observation.sums import CohortSum, SumScene


@dataclass(frozen=True, kw_only=True)
class RowsOfSum(Budget):
    """Read every sum as one large batch, and put together what several rounds give.

    Guarantees:
        A certified row is a row of some client of a cohort that was watched, as ``exact/certificate.py`` says it of
        one update. Whose it is, is not said.

    References:
        ``docs/explanation/sums.md``.

    Example:
        >>> RowsOfSum(starts=4).reads
        'rows'
    """

    reads: ClassVar[Reads] = "rows"
    rerun: ClassVar[bool] = False

    def start(self, scene: SumScene, streams: Streams, *, progress: Progress = silent) -> Watching:
        """An attacker that waits for all rounds."""
        return Watching(partial(self._answer, streams=streams, progress=progress))

    def _answer(self, sums: Sequence[CohortSum], streams: Streams, progress: Progress) -> Claim:
        claims = read_each(self.exact(), sums, streams, progress)
        return claims[0] if len(claims) == 1 else together(claims, rows_behind(sums))


def together(claims: Sequence[Claim], total: int) -> Claim:
    """One claim about all rows of all cohorts: proven ones first, then estimates of the rounds, then the average row.

    Args:
        total: rows that are claimed.
    """
    scored = [claim for claim in claims if claim.rows is not None]
    if not scored:
        return claims[0]
    proven = proven_in_all(claims)[:total]
    guessed = np.concatenate([_estimates(claim) for claim in scored])
    every = np.concatenate([proven, guessed]) if len(proven) else guessed
    every = every[distinct(every)][:total]
    mean = np.concatenate([claim.rows for claim in scored if claim.rows is not None]).mean(0)
    rows = np.concatenate([every, np.repeat(mean[None], total - len(every), 0)])
    certified = np.arange(total) < len(proven)
    done = bool(certified.all())
    return Claim(
        outcome=Outcome.OK if done else Outcome.BUDGET_SPENT,
        rows=rows.astype(np.float32),
        certified=certified,
        note=f"{len(proven)} of {total} rows are certified in {len(claims)} sums.",
    )


def _estimates(claim: Claim) -> np.ndarray:
    """What a claim says without proof."""
    assert claim.rows is not None
    return claim.rows if claim.certified is None else claim.rows[~claim.certified]
