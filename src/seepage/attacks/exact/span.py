r"""The row space of a layer's gradient, how well it is known, and the test whether a vector lies in it.

A linear layer's gradient is :math:`A = \sum_i u_i v_i^\top` over the records: :math:`v_i` is what the layer took in for
record :math:`i` (with a 1 for the bias), :math:`u_i` how the loss reacts to what it gave out. So every :math:`v_i` lies
in the row space of :math:`A` and every :math:`u_i` in its column space, as long as the others do not hide them.

What is observed is :math:`A + E` with an error :math:`E`: the rounding of float32, or noise. Nobody has to say how
large it is. A batch of B records has rank B at most, so all further singular values are the error's own, and their size
calibrates the test: for :math:`v = A^\top a` the distance to the observed row space has the expected square
:math:`\|a\|^2 \tau^2 k`, with :math:`\tau` the deviation of an entry of :math:`E` and :math:`k` the dimensions outside.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

ROUNDING = 3e-8  # deviation of float32's relative rounding error
# Of what the attacker computes itself: the client's float32 layers carry this relative error. The largest seen for true
# records is 3e-7.
FORWARD = 2e-7
CLEAR = 8.0  # a direction of the records stands this much above the largest one of the error
WIDE = 600  # inputs; beyond them a basis of all that is outside of a few records' span would be nearly square


@dataclass(frozen=True, eq=False)
class Span:
    """The singular value decomposition of a layer's gradient, cut into what the records put there and the error.

    Args:
        values: all singular values, largest first.
        right: (rank, inputs) basis of the row space.
        outside: (inputs - rank, inputs) basis of its complement: a record's input is orthogonal to all of it. None for
            wide layers, where it is never written down: what is outside of the span is what ``right`` leaves.
        left, left_outside: the same for the column space, (outputs, rank) and (outputs, outputs - rank).
        error: deviation of an entry's error.
        forward: relative error of what the attacker computes itself.
    """

    values: Tensor
    right: Tensor
    outside: Tensor | None
    left: Tensor
    left_outside: Tensor
    error: float
    forward: float = FORWARD

    @property
    def rank(self) -> int:
        """Dimensions above the error."""
        return self.right.shape[0]

    @property
    def equations(self) -> int:
        """What a record's input must satisfy."""
        return self.right.shape[1] - self.rank if self.outside is None else self.outside.shape[0]

    @property
    def calibrated(self) -> bool:
        """Whether there is something to measure the error by."""
        return self.rank < len(self.values)

    def float(self) -> Span:
        """The bases of the inputs in float32, for searches."""
        outside = None if self.outside is None else self.outside.float()
        return replace(self, right=self.right.float(), outside=outside)

    def beyond(self, vectors: Tensor) -> Tensor:
        """(rows, equations) or (rows, inputs) the part outside of the row space: the same lengths and angles in both.

        Where the complement has no basis the part is left as a vector of inputs, which costs rank products instead of
        one for every equation.
        """
        if self.outside is None:
            return vectors - (vectors @ self.right.T) @ self.right
        return vectors @ self.outside.T

    def mixtures(self, shares: Tensor) -> Tensor:
        """(inputs, mixtures) the vectors whose products with an input are mixtures of what :meth:`beyond` gives.

        Args:
            shares: (entries of ``beyond``, mixtures).
        """
        return self.beyond(shares.T).T if self.outside is None else self.outside.T @ shares

    def open_directions(self, numeric: int) -> Tensor:
        """(rank,) how far the span's directions leave the numbers, smallest first; 0 where one changes numbers only.

        The first ``numeric`` inputs are numbers. By the cosine-sine decomposition these are the singular values of the
        complement's basis on the numbers that are not 1, but from a matrix of rank rows.
        """
        values = torch.linalg.svdvals(self.right[:, numeric:])
        missing = self.rank - len(values)
        return torch.cat([values.new_zeros(missing), values.flip(0)])

    def distance(self, vectors: Tensor) -> Tensor:
        """(rows,) distance to the row space in units of what the error explains: about 1 for a record's input."""
        return self.beyond(vectors).square().sum(-1).sqrt() / self.tolerance(vectors).clamp(min=1e-150)

    def slope_distance(self, slopes: Tensor) -> Tensor:
        """(rows,) the same for the column space."""
        return (slopes @ self.left_outside).square().sum(-1).sqrt() / self.slope_tolerance(slopes).clamp(min=1e-150)

    def slope_tolerance(self, slopes: Tensor) -> Tensor:
        """(rows,) the distance to the column space that the error explains."""
        inside = (slopes @ self.left / self.values[: self.rank]).square().sum(-1)
        return (inside * self.error**2 * self.left_outside.shape[1] + self.forward**2 * slopes.square().sum(-1)).sqrt()

    def tolerance(self, vectors: Tensor) -> Tensor:
        """(rows,) the distance to the row space that the error explains."""
        inside = (vectors @ self.right.T / self.values[: self.rank]).square().sum(-1)
        return (inside * self.error**2 * self.equations + self.forward**2 * vectors.square().sum(-1)).sqrt()

    def weight(self, slopes: Tensor, vectors: Tensor) -> tuple[Tensor, Tensor]:
        r"""(rows,) :math:`v^\top A^+ u` and the error to expect of it.

        For independent records it is exactly 1 for a record's own pair (Wedderburn's rank reduction), and 1/n for a
        record that is n times in the batch.
        """
        values = self.values[: self.rank]
        left, right = slopes @ self.left, vectors @ self.right.T
        product = (left * right / values).sum(-1)
        error = (left / values).norm(dim=-1) * (right / values).norm(dim=-1) * self.error
        return product, error


def span_of(gradient: Tensor, rows: int, floor: float, *, drifting: bool = False) -> Span:
    """The span of a layer's gradient.

    The rank counts the singular values that stand clearly above the error: above what float32 leaves, and above the
    first one that so few rows cannot reach.

    Args:
        gradient: (outputs, inputs) in float64, with the bias as its last column.
        rows: records behind it at most.
        floor: deviation of an entry's error that is certainly there: the rounding of the update.
        drifting: the layer's inputs changed during local training, so there is no sharp end; the rank is ``rows``.
    """
    outputs, inputs = gradient.shape
    wide = inputs > WIDE
    left, values, right = torch.linalg.svd(gradient, full_matrices=not wide or outputs > inputs)
    least = floor * (outputs**0.5 + inputs**0.5)  # the largest singular value of an error of this deviation
    # A batch of this many rows cannot reach the next singular values: they are error, whatever the error is.
    noise = least
    if rows < len(values):
        deviation = float(values[rows:].square().sum() / ((outputs - rows) * (inputs - rows))) ** 0.5
        noise = max(float(values[rows]), deviation * (outputs**0.5 + inputs**0.5), least)
    rank = min(rows, int((values > (1 if drifting else CLEAR) * noise).sum()))
    free = max((outputs - rank) * (inputs - rank), 1)
    error = max(float(values[rank:].square().sum() / free) ** 0.5, floor / 4)
    return Span(values, right[:rank], None if wide else right[rank:], left[:, :rank], left[:, rank:], error)
