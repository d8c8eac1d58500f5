"""Which claimed row stands for which true row: an update does not know the order of its rows."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist


def match_rows(cost: np.ndarray) -> np.ndarray:
    """For each true row the claimed row that stands for it, so that the total cost is least (Hungarian method).

    Args:
        cost: (true rows, claimed rows).

    Returns:
        (true rows,) places of the claimed rows.
    """
    true, claimed = linear_sum_assignment(cost)
    order: np.ndarray = claimed[np.argsort(true)]
    return order


def l1_cost(true: np.ndarray, claimed: np.ndarray) -> np.ndarray:
    """L1 distance of encoded rows (the profiling study). Values beyond any use are cut so that the sums stay finite."""
    cost: np.ndarray = cdist(true, np.nan_to_num(claimed, nan=0.0, posinf=1e9, neginf=-1e9), "cityblock")
    return cost
