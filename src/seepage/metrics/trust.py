"""What an attacker's own doubt says about its answer: accuracy by bucket of doubt (TabLeak, section 4)."""

from __future__ import annotations

import numpy as np

from seepage.results import ALL_COLUMNS, ATTACK, BUCKETS, PRIOR, Kind, Measure, places


def doubt_measures(doubt: np.ndarray, right: np.ndarray, guessed: np.ndarray, numeric: int) -> dict[Measure, float]:
    """The mean doubt of a batch, and for each bucket its cells and the share of them that is right.

    The prior's share on the same cells stands beside it: cells the attacker is sure of may be those that anybody
    guesses. Cells without a doubt (NaN) count nowhere; what has no cell is absent.

    Args:
        doubt: (rows, columns) numbers first, then categories.
        right: (rows, columns) which of these cells the attack has right.
        guessed: (rows, columns) which of them the prior has right.
        numeric: how many columns are numbers.
    """
    parts: dict[Kind, slice] = {"numeric": slice(0, numeric), "categorical": slice(numeric, None)}
    values: dict[Measure, float] = {}
    for kind, columns in parts.items():
        known = ~np.isnan(doubt[:, columns])
        doubts = doubt[:, columns][known]
        if not len(doubts):
            continue
        values[Measure(ATTACK, ALL_COLUMNS, "doubt_num" if kind == "numeric" else "doubt_cat")] = float(doubts.mean())
        chosen = places(kind, doubts)
        for place, bucket in enumerate(BUCKETS[kind]):
            inside = chosen == place
            if not inside.any():
                continue
            values[Measure(ATTACK, bucket.scope, bucket.cells)] = float(inside.sum())
            for source, good in ((ATTACK, right), (PRIOR, guessed)):
                share = good[:, columns][known][inside].mean()
                values[Measure(source, bucket.scope, bucket.accuracy)] = float(share)
    return values
