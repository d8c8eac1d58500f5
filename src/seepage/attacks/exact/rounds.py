r"""Several rounds on the same rows are one puzzle: a layer that one round leaves shut is open after two.

A client that trains on the same rows in every round sends, for the first layer, :math:`A_r = \sum_i \delta_i^r
(x_i, 1)^\top`. The slopes :math:`\delta_i^r` differ from round to round, the rows do not. Laid on top of each other,
the updates of all rounds are :math:`A = \sum_i \delta_i (x_i, 1)^\top` with :math:`\delta_i` all of a row's slopes, one
under the other. *A layer narrower than the batch protects for one round only:*

1. *Row space*: that of :math:`A` is the span of the rows, bounded by their rank, no longer by the layer's width. All
   valid rows in it are listed (``search.py``), often thousands, often with numbers left open.
2. *Column space*: a row's slopes over all rounds, which the attacker can compute for any row and label, must lie in the
   column space of :math:`A`. That is one equation for each output and round beyond the number of rows. They settle the
   numbers that the row space leaves open, leaf by leaf, and tell records from all other valid rows.
3. *Peeling*: records are taken out of every round; what is left is a smaller batch.

4. *Choosing*: rows that differ in one number only lie on a line and have no place of their own in any space. How many
   of each are there is found together (``choosing.py``).

**What a certificate means here.** A row is proven *alone* if it passes both tests with a weight of 1 (``settling.py``).
Rows that only came to light when others were taken away are proven *with the set*: all rows together, no more and no
fewer than there are, give what was sent in every layer and every round up to rounding, and what was sent says every
number to a hundredth of a deviation. A row that is not behind all rounds passes no test: where clients or batches were
mixed up, nothing is certified but what all rounds share.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch

from seepage._core import Progress, Streams, silent
from seepage.attacks.attack import Together, check_least
from seepage.attacks.exact.cascade import Exact
from seepage.attacks.exact.choosing import chosen_together
from seepage.attacks.exact.polishing import polished
from seepage.attacks.exact.search import span_search
from seepage.attacks.exact.settling import SPARE, STRICT, Candidates, Found
from seepage.attacks.exact.stacked import Rounds
from seepage.observation import Claim, Observation, Scene

ALONE = 2  # equations that the first layer leaves for each row, at least, where one round is asked: it takes long
LOOSE = 200.0  # the same after rows were taken away, whose numbers were known to a hundred-thousandth only


@dataclass(frozen=True, kw_only=True)
class ExactRounds:
    """Read the rows that are behind all of a client's rounds, and prove them together.

    Guarantees:
        See above: a certified row is behind every one of these rounds.

    Args:
        nodes: nodes of a span search.
        leaves: valid rows of the span that are looked at.
        starts: from which open numbers are settled: the middle of their ranges, then drawn ones.
        turns: how often peeling goes on.

    References:
        ``docs/explanation/exact-inversion.md``.

    Example:
        >>> ExactRounds(starts=2).turns
        40
    """

    nodes: int = 60_000_000
    leaves: int = 1_000_000
    starts: int = 6
    turns: int = 40

    def __post_init__(self) -> None:
        check_least(self, nodes=1, leaves=1, starts=1, turns=1)

    def start(self, scene: Scene, streams: Streams, *, progress: Progress = silent) -> Together[Observation]:
        """All observations are rounds of one client."""
        return Together(partial(self, streams=streams, progress=progress))

    def __call__(
        self,
        observations: Sequence[Observation],
        streams: Streams,
        *,
        known: Claim | None = None,
        progress: Progress = silent,
    ) -> list[Claim]:
        """The same claim for every round.

        Args:
            known: another claim about the same rows, in all rounds. What it proves is taken away first.
        """
        rounds = Rounds.of(observations)
        if known is not None:
            rounds = _less(rounds, known)
        drawn = torch.Generator().manual_seed(streams.integer("starts"))
        why = ""
        for turn in range(self.turns):
            if rounds.done:
                break
            progress("rounds", turn + 1, self.turns, f"{len(rounds.rows)} of {rounds.total} rows")
            found, why = self._found(rounds, drawn)
            if found is None:
                found = self._alone(rounds, observations, streams.child("alone", turn))
            if found is None:
                break
            rounds, why = rounds.without(*found), ""
        return [polished(rounds).claim(why)] * len(observations)

    def _alone(self, rounds: Rounds, observations: Sequence[Observation], streams: Streams) -> Found | None:
        """What is left may be few enough rows for one round: rows that depend on each other have no place of their own
        in the stacked spaces, but in those of deeper layers."""
        few = rounds.total - len(rounds.rows)
        if few > rounds.layer.directions - ALONE:
            return None
        attack = Exact(restarts=2, starts=4, turns=2, compile="no")  # not the optimiser's rows: proven ones are asked
        for number in sorted({0, len(observations) - 1}):
            smaller = rounds.rest(observations[number], number)
            (claim,) = attack([smaller], streams.child(number))
            if claim.rows is None or claim.certified is None or claim.labels is None or not claim.certified.any():
                continue
            kept = torch.from_numpy(claim.certified & np.isfinite(claim.labels))
            if bool(kept.any()):
                rows, labels = torch.from_numpy(claim.rows)[kept], torch.from_numpy(claim.labels)[kept]
                # What is left has the small errors of all that was taken away, so its own proofs do not count.
                return Found(rows.double(), labels.double(), torch.zeros(len(rows), dtype=torch.bool))
        return None

    def _found(self, rounds: Rounds, drawn: torch.Generator) -> tuple[Found | None, str]:
        """Records that are left, with their labels; or None, and why."""
        view, span = rounds.view, rounds.span
        leaves = span_search(view, self.nodes)
        if not leaves.complete:
            return None, f"The search in a span of {span.rank} gave up after {leaves.nodes:,} nodes."
        if not len(leaves.codes) or len(leaves.codes) > self.leaves:
            return None, f"{len(leaves.codes):,} valid rows lie in a span of {span.rank}: none, or too many."
        if span.left_outside.shape[1] < leaves.free + SPARE:
            equations = span.left_outside.shape[1]
            return (
                None,
                f"{equations} equations for each row do not settle {leaves.free} open numbers; watch more rounds.",
            )
        candidates = Candidates.of(rounds, leaves)
        starts = self.starts if leaves.free else 1
        for start in range(starts):
            # Rows that were taken away leave their own small errors: at last they are allowed for.
            found = candidates.settled(
                rounds, start, drawn, STRICT if start < starts - 1 or not len(rounds.rows) else LOOSE
            )
            if found is not None:
                return found, ""
        found = chosen_together(rounds, leaves)
        if found is not None:
            return found, ""
        return None, f"None of {len(leaves.codes):,} valid rows in a span of {span.rank} is a record of all rounds."


def _less(rounds: Rounds, known: Claim) -> Rounds:
    """What is left when the rows that a claim proves are taken away."""
    if known.rows is None or known.certified is None or known.labels is None:
        return rounds
    proven = known.certified & np.isfinite(known.labels)
    if not proven.any():
        return rounds
    rows, labels = (torch.from_numpy(each[proven]).double() for each in (known.rows, known.labels))
    return rounds.without(rows, labels, torch.ones(len(rows), dtype=torch.bool))
