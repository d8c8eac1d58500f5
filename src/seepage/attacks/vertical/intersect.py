r"""The one direction that several spans have in common, where some of the spans may lack it.

Spans are given by orthonormal rows. A unit vector :math:`u` lies in a span with basis :math:`B` as far as
:math:`\lVert u - B^\top B u\rVert` is zero. The search stays inside the first span, so it is an eigenvalue problem of
that span's rank, whatever the number of inputs: with :math:`C_t = B_t B_0^\top` the vector :math:`B_0^\top c` is the
nearer to all spans the larger :math:`c^\top \bigl(\sum_t w_t C_t^\top C_t\bigr) c`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

ROUNDS = 8  # of weights, each of which trusts spans that miss the direction less
FIRST, FALL, LAST = 0.1, 0.3, 1e-4  # distances that count as the same, from the first round to the last
IN = 1e-2  # a unit vector this near to a span lies in it
APART = 2e-3  # every other direction is this far from the spans at least, as a root mean square,
CLEARLY = 10.0  # and this many times as far as the direction itself
ASKED = 2  # spans at least that must agree
MOST = 32  # spans at most for one person
STARTS = 2  # spans of a set that are taken as the first one


@dataclass(frozen=True, eq=False)
class Common:
    """A direction, and how sure it is.

    Args:
        direction: (inputs,) of length 1.
        inside: spans that hold it.
        asked: spans that were asked.
        residual: the largest distance to those that hold it.
        second: how far the next best direction is from the same spans: zero if the spans have a plane in common.
    """

    direction: Tensor
    inside: int
    asked: int
    residual: float
    second: float

    @property
    def sure(self) -> bool:
        """Whether the spans that agree have this one direction in common, and most agree."""
        apart = self.second > max(APART, CLEARLY * self.residual)
        return self.inside >= ASKED and 2 * self.inside > self.asked and apart

    @property
    def rank(self) -> tuple[bool, float, float]:
        """For choosing the better of two."""
        return self.sure, self.inside / self.asked, self.second


def common(spans: list[Tensor]) -> Common:
    """The best direction of a person's spans, the clearest span first.

    Few spans are tried before many: people of whom the model is sure are missing in the later ones, and a majority of
    spans that lack the direction cannot be outvoted.
    """
    best: Common | None = None
    for count in _counts(len(spans)):
        for start in range(min(STARTS, count)):
            found = _within(spans[start], [span for place, span in enumerate(spans[:count]) if place != start])
            if best is None or found.rank > best.rank:
                best = found
            if best.sure and best.inside == best.asked:
                return best
    assert best is not None
    return best


def _counts(available: int) -> Iterator[int]:
    count = 4
    while count < min(available, MOST):
        yield count
        count = max(count + 1, count * 4 // 3)
    yield min(available, MOST)


def _within(first: Tensor, others: list[Tensor]) -> Common:
    """The direction of the first span that most of the others hold."""
    if not others:
        return Common(first[0], 1, 1, 0.0, 0.0)
    stacked = torch.nn.utils.rnn.pad_sequence(others, batch_first=True)  # spans of different ranks
    mixed = stacked @ first.T
    squares = (mixed.mT @ mixed).double()
    weights = torch.ones(len(others), dtype=torch.float64)
    near = FIRST
    for _ in range(ROUNDS):
        direction = _top(squares, weights)[0].to(first.dtype) @ first
        inside = ((stacked @ direction)[:, None] @ stacked)[:, 0]
        far = (direction - inside).norm(dim=1)
        weights = 1 / far.clamp(min=near).double()
        near = max(LAST, FALL * near)
    holds = far < IN
    if not bool(holds.any()):
        return Common(direction, 1, len(others) + 1, 0.0, 0.0)
    second = _top(squares, holds.double())[1]
    return Common(direction, int(holds.sum()) + 1, len(others) + 1, float(far[holds].max()), second)


def _top(squares: Tensor, weights: Tensor) -> tuple[Tensor, float]:
    """The coefficients that are largest inside, and how far outside the next ones are."""
    mean = (weights[:, None, None] * squares).sum(0) / weights.sum()
    # A common shift changes no direction; without it LAPACK can fail on eigenvalues that are all the same.
    values, vectors = torch.linalg.eigh(mean + torch.diag(1e-12 * torch.arange(len(mean), dtype=mean.dtype)))
    second = float(values[-2]) if len(values) > 1 else 0.0
    return vectors[:, -1], max(0.0, 1 - second) ** 0.5
