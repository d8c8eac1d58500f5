"""What an attack answers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from seepage._core import Outcome
from seepage.observation.tally import Tally


@dataclass(frozen=True, kw_only=True)
class Claim:
    """The adversary's answer about one observation.

    Args:
        outcome: how the attack ended; rows are there only if the outcome is scored.
        rows: (rows, width) claimed inputs in the model's input space.
        labels: (rows,) the labels the attacker worked out, if it was not given them.
        doubt: (rows, columns) how unsure the attacker is of every cell, numbers first, then categories, in the order
            of the rows: entropies over its own restarts (see ``attacks/inversion/pooling/doubt.py``), NaN where it
            cannot tell.
        certified: (rows,) which rows the attack proves to be records of the batch (``attacks/exact/certificate.py``);
            None for attacks that prove nothing.
        determined: (rows,) which rows are an answer at all, where an attack on a stream cannot tell some yet; None for
            all. The others are claimed as the average row.
        ordered: row i of the claim is row i of the data: the attacker knows whose it is.
        label_scores: (rows, classes) how much speaks for each class of each row, where an attack reads labels only.
        columns: (columns, rows) zeros and ones: two-valued columns that were found, whichever they are.
        owners: (rows,) which client of a cohort has each row, where sums over cohorts tell; -1 where they do not.
        entry_owners: for each categorical column (categories,) a client that has the category, or -1.
        loss: the attack's own objective at its answer.
        tally: what is claimed of all rows together, by attacks that read no single row.
        note: one sentence, if there is something to say.
    """

    outcome: Outcome
    rows: np.ndarray | None = None
    labels: np.ndarray | None = None
    doubt: np.ndarray | None = None
    certified: np.ndarray | None = None
    determined: np.ndarray | None = None
    ordered: bool = False
    label_scores: np.ndarray | None = None
    columns: np.ndarray | None = None
    owners: np.ndarray | None = None
    entry_owners: tuple[np.ndarray, ...] | None = None
    loss: float | None = None
    tally: Tally | None = None
    note: str = ""
