"""Which row of a restart stands for which row of the best one."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist


def align(runs: np.ndarray, losses: np.ndarray) -> np.ndarray:
    """Every restart in the row order of the one with the lowest loss (Hungarian method, L1 distance)."""
    aligned, best = runs.copy(), losses.argmin()
    for place, run in enumerate(runs):
        if place != best:  # the cube of the rows is spared where there is nothing to align
            aligned[place] = run[linear_sum_assignment(cdist(runs[best], run, "cityblock"))[1]]
    return aligned


def merged(runs: np.ndarray, sets: int) -> np.ndarray:
    """(..., sets x rows, width) several guesses of the same rows to one: aligned to the first set, then the mean."""
    if sets == 1:
        return runs
    *leading, rows, width = runs.shape
    parts = runs.reshape(-1, sets, rows // sets, width)
    first = np.zeros(sets)
    return np.stack([align(part, first).mean(0) for part in parts]).reshape(*leading, rows // sets, width)
