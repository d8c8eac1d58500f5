r"""The smallest cohort that hides its rows, predicted: counted, without an attack.

A sum over a cohort is the update of one batch of all its rows, so what ends exact reading of one update ends it here:
more rows behind the sum than the layers can hold apart (:func:`~seepage.attacks.applicability.row_limit`). Two things
are counted beside. *Equal rows*: rows that are the same have one direction together, so more of them fit; how many of
so many rows of the table are different is known to whoever has a table like it. *Unequal clients* are not counted: the
cohort is the smallest with that many rows.

It is a prediction for one sum of an honest server and the attack ``exact``: several rounds, changing cohorts, a round
that is run again, or weights chosen to leak, open what one sum hides. It is no proof of privacy.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from seepage._core import InputError
from seepage.attacks.applicability import Setup, row_limit

SMALLEST = 2  # clients of a cohort: the sum over one is its update
MOST_ROWS = 4096  # that are drawn to see how many of them differ


@dataclass(frozen=True, kw_only=True)
class Limit:
    """What was counted.

    Args:
        rows: behind one sum, from which on algebra reads none; None if it reads none of a single row.
        cohort: the smallest with so many rows.
        why: in a sentence.
    """

    rows: int | None
    cohort: int | None
    why: str


def limit_of(setup: Setup, rows_each: int, table: np.ndarray | None = None) -> Limit:
    """The smallest cohort of clients with so many rows that hides them from ``exact``.

    Args:
        setup: the model and the rules of a round; its rows and clients do not matter.
        rows_each: rows of a client.
        table: (rows, columns) rows like those of the clients, to count how many are equal; none for all different.
    """
    if rows_each < 1:
        raise InputError(f"A client has {rows_each} rows; how many there are must be known, and at least 1.")
    most = row_limit(replace(setup, rows=1, clients=1))
    if not most:
        return Limit(rows=None, cohort=None, why="Algebra reads no whole rows here, at any number of them.")
    rows = most + 1 if table is None else _drawn_until(table, most)
    equal = f" ({rows} rows of this table are more, as some are equal)" if rows > most + 1 else ""
    holds = f"The layers hold {most} {'row' if most == 1 else 'rows'} apart{equal}"
    if rows_each >= rows:
        return Limit(rows=rows, cohort=SMALLEST, why=f"{holds}; every single client has {rows_each}, which is more.")
    cohort = max(SMALLEST, -(-rows // rows_each))
    each = "1 row" if rows_each == 1 else f"{rows_each} rows"
    return Limit(rows=rows, cohort=cohort, why=f"{holds}; a sum over {cohort} clients with {each} each has more.")


def _drawn_until(table: np.ndarray, most: int) -> int:
    """How many rows are drawn until more than ``most`` are different: the mean of a few tries."""
    draw, found = np.random.default_rng(0), []
    codes = np.unique(table, axis=0, return_inverse=True)[1].reshape(-1)
    for _ in range(8):
        order = codes[draw.permutation(len(codes))[:MOST_ROWS]]
        first = np.sort(np.unique(order, return_index=True)[1])
        found.append(int(first[most]) + 1 if len(first) > most else len(order) + 1)
    return round(float(np.mean(found)))
