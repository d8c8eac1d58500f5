"""How many rows were read exactly, counted and not matched: it takes thousands of rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from seepage.data import Table
from seepage.metrics.resolution import resolution

TOLERANCE = 0.319  # deviations within which a number is near, as elsewhere


@dataclass(frozen=True)
class RowsRead:
    """Shares of the true rows.

    Args:
        exact: every category equal, every number at its column's resolution.
        near: every category equal, every number within a tolerance.
        certified: proven by the attack.
        certified_wrong: how many proven rows are not near a true one: each is a bug.
    """

    exact: float
    near: float
    certified: float
    certified_wrong: int


def rows_read(numbers: np.ndarray, codes: np.ndarray, certified: np.ndarray, truth: Table) -> RowsRead:
    """Count claimed rows that are true ones; each true row counts once.

    Args:
        numbers, codes: (claimed, columns) decoded rows.
        certified: (claimed,) which are proven.
        truth: the rows as they are.
    """
    step, spread = resolution(truth), truth.numbers.std(0)
    spread = np.where(spread > 0, spread, 1.0)
    pools: dict[bytes, list[np.ndarray]] = {}
    for own, code in zip(truth.numbers, truth.codes, strict=True):
        pools.setdefault(code.tobytes(), []).append(own)
    exact = near = wrong = 0
    for own, code, proven in zip(numbers, codes.astype(truth.codes.dtype), certified, strict=True):
        pool = pools.get(code.tobytes(), [])
        away = [np.abs(own - other) for other in pool]
        equal = next((k for k, each in enumerate(away) if (each <= 0.500001 * step).all()), None)
        close = next((k for k, each in enumerate(away) if (each <= TOLERANCE * spread).all()), None)
        exact += equal is not None
        near += close is not None
        wrong += bool(proven) and close is None
        taken = equal if equal is not None else close
        if taken is not None:
            del pool[taken]
    count = len(truth)
    return RowsRead(exact / count, near / count, float(certified.sum()) / count, wrong)
