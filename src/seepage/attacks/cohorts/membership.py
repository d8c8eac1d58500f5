"""Whether a row that was read in one round is behind the sum of another."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from seepage._core import NotApplicable
from seepage.attacks.cohorts.owners import ABSENT, PRESENT, UNKNOWN
from seepage.attacks.cohorts.reading import certified_rows
from seepage.attacks.exact.certificate import LIMIT, SAME, certify
from seepage.attacks.exact.view import View, view_of
from seepage.attacks.totals.presence import present_categories
from seepage.observation import Claim
from seepage.observation.sums import CohortSum

FAR = 100.0  # times the limit: farther from a span than any record is
VISIBLE = 300.0  # times the error: a record whose part of the sum is smaller may be hidden


@dataclass(frozen=True, eq=False)
class Watched:
    """One sum, and what is known of it.

    Args:
        view: of the sum, for tests of single rows.
        categories: for each categorical column (categories,) 1 present, 0 absent, -1 unknown; none if not readable.
        proven: (rows, width) rows that were read from it with proof.
        complete: these are all of its rows.
    """

    view: View
    categories: tuple[np.ndarray, ...] | None
    proven: np.ndarray
    complete: bool

    @staticmethod
    def of(seen: CohortSum, claim: Claim) -> Watched:
        """What a sum tells, and what was read from it."""
        update, proven = seen.as_update(), certified_rows(claim)
        try:
            categories = tuple(present_categories(update)[0])
        except NotApplicable:
            categories = None
        return Watched(view_of(update), categories, proven, len(proven) == seen.exchange.rows)

    def states(self, rows: np.ndarray) -> np.ndarray:
        """(rows,) 1 where a row is behind the sum, 0 where it is not, -1 where that cannot be told.

        *Present*: it was read here with proof, or the layers certify it (``exact/certificate.py``). *Absent*: it has a
        category whose weights nobody moved; or all rows were read, and it is none of them; or it lies far outside of
        the first layer's span, and its own part of the sum would stand far above the error.
        """
        found = np.full(len(rows), UNKNOWN)
        if not len(rows):
            return found
        codes, numbers = decoded(self.view, rows)
        found[self._far(codes, numbers)] = ABSENT
        if self.categories is not None:
            own = codes.numpy()
            silent = [each[np.minimum(own[:, j], len(each) - 1)] == 0 for j, each in enumerate(self.categories)]
            found[np.any(silent, axis=0) if silent else np.zeros(len(rows), dtype=bool)] = ABSENT
        if self.complete:
            found[:] = ABSENT
        else:
            open_ = found == UNKNOWN
            if open_.any():
                asked = torch.from_numpy(open_)
                sure = certify(self.view, codes[asked], numbers[asked])
                x = self.view.rows_of(sure.codes, sure.numbers)[sure.certain].numpy()
                found[among(rows, x) & open_] = PRESENT
        found[among(rows, self.proven)] = PRESENT
        return found

    def _far(self, codes: Tensor, numbers: Tensor) -> np.ndarray:
        """(rows,) which rows the first layer rules out."""
        view = self.view
        place = next((k for k, layer in enumerate(view.layers) if layer.entrance), None)
        usable = view.peelable and view.learner.task != "regression" and not view.compressed
        if place is None or not usable or view.total > view.layers[place].directions:
            return np.zeros(len(codes), dtype=bool)
        x, span = view.rows_of(codes, numbers), view.spans[place]
        inputs = view.inputs(x)[place]
        classes = range(max(view.outputs, 2))
        slopes = torch.stack([view.slopes(x, torch.full((len(x),), c))[place].norm(dim=1) for c in classes])
        part = slopes.amin(0) * span.beyond(inputs).norm(dim=1)
        error = span.error * (span.left.shape[0] ** 0.5 + span.right.shape[1] ** 0.5)
        ruled_out: np.ndarray = ((span.distance(inputs) > FAR * LIMIT) & (part > VISIBLE * error)).numpy()
        return ruled_out


def decoded(view: View, rows: np.ndarray) -> tuple[Tensor, Tensor]:
    """Category codes and numbers of rows that are inputs of the model."""
    x = torch.from_numpy(np.asarray(rows, dtype=np.float64))
    codes = [
        torch.cdist(x[:, block], table).argmin(1)
        for block, table in zip(view.space.layout.blocks, view.codes, strict=True)
    ]
    chosen = torch.stack(codes, 1) if codes else torch.zeros(len(x), 0, dtype=torch.long)
    return chosen, x[:, : view.numeric]


def among(rows: np.ndarray, known: np.ndarray) -> np.ndarray:
    """(rows,) which of these are among the known ones."""
    if not len(known) or not len(rows):
        return np.zeros(len(rows), dtype=bool)
    found: np.ndarray = np.abs(rows[:, None] - known[None]).max(2).min(1) <= SAME
    return found
