"""When a row that was read is proven.

A row is proven if its slope is the one that the server computes for that very row and one of two labels, and if it is
all that is left of its bins: in bins of two chains (or in one, where there is one) everything adds up to rounding, the
slope, every category, every number and every ramp, together with the other rows that were read there. A combination
of other rows would have to agree in the slope, a real number that depends on the row, and in all of these at once, and
would have to stand between the same cuts.
"""

from __future__ import annotations

import numpy as np

from seepage.attacks.malicious.peeling import Ledger

CLOSE = 8.0  # times the rounding that may be left over
LEAST = 1e-9


def proven(ledger: Ledger) -> np.ndarray:
    """(rows,) which of the rows that were read are proven: none where the server does not know their slopes."""
    agreeing = np.zeros(len(ledger.rows), dtype=np.int64)
    if not len(ledger.rows) or ledger.known is None or ledger.known.classes > 2:
        return agreeing.astype(bool)
    for trap, sums, rounding in zip(ledger.traps, ledger.sums, ledger.rounding, strict=True):
        empty = np.append((np.abs(sums) <= CLOSE * rounding + LEAST).all(1), False)
        agreeing += empty[trap.places(ledger.rows)].sum(1)
    chains = sum(len(trap.chains) for trap in ledger.traps)
    return np.asarray((agreeing >= min(chains, 2)) & (ledger.counts.sum(1) == 1))
