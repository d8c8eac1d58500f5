"""How finely a column tells its numbers: what "exact" means for a number.

Whole numbers are exact when they are equal. Other numbers are exact to the digits that the table has. A column with
more digits than single precision can carry, in which models are given their inputs, is exact to what that tells apart.
"""

from __future__ import annotations

import numpy as np

from seepage.data import Table

DIGITS = 12  # decimals that are looked for; more than that is always finer than single precision
STEPS = 2.0**22  # that single precision tells apart between a column's ends, two bits left for rounding


def resolution(table: Table) -> np.ndarray:
    """(numeric columns,) The step in which the numbers of a column are told."""
    steps = [_step(table.numbers[:, place], column.fill) for place, column in enumerate(table.schema.numeric)]
    return np.array(steps, dtype=np.float64)


def _step(values: np.ndarray, fill: float) -> float:
    """Of one column. What fills empty cells is not counted: a mean has digits that the column does not have."""
    told = values[values != fill]
    if not len(told):
        return 1.0
    least = float(told.max() - told.min()) / STEPS
    rounding = 1e-12 * float(np.abs(told).max())
    for decimals in range(DIGITS):
        step = 10.0**-decimals
        if step <= least:
            return least
        # A number such as 0.1 is not one of base two: near enough to a multiple is one.
        if np.allclose(told, np.round(told, decimals), rtol=0, atol=1e-6 * step + rounding):
            return step
    return max(least, 10.0**-DIGITS)
