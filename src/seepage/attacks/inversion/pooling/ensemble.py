"""TabLeak's pooled ensemble."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from seepage._core import unknown_name
from seepage.data import Layout


@dataclass(frozen=True, kw_only=True)
class Ensemble:
    """Aligns the rows of every restart with those of the best one (Hungarian method), then pools cell by cell.

    Args:
        how: ``median`` (document 000), ``mean``, or ``vote`` (every restart votes for one category per block; numbers
            take the median).

    References:
        Vero et al., TabLeak (document 000), section 3.2.
    """

    how: Literal["median", "mean", "vote"] = "median"

    def __post_init__(self) -> None:
        if self.how not in ("median", "mean", "vote"):
            raise unknown_name("pooling", self.how, ("median", "mean", "vote"))

    def __call__(self, runs: np.ndarray, losses: np.ndarray, layout: Layout) -> np.ndarray:
        aligned = align(runs, losses)
        if self.how == "mean":
            pooled: np.ndarray = aligned.mean(0)
            return pooled
        if self.how == "vote":
            aligned = aligned.copy()
            for block in layout.blocks:
                part = aligned[..., block]
                aligned[..., block] = part == part.max(-1, keepdims=True)
            pooled = aligned.mean(0)
            pooled[:, : layout.numeric] = np.median(aligned[..., : layout.numeric], axis=0)
            return pooled
        pooled = np.median(aligned, axis=0)
        return pooled


def align(runs: np.ndarray, losses: np.ndarray) -> np.ndarray:
    """Every restart in the row order of the one with the lowest loss."""
    best = runs[losses.argmin()]
    return np.stack([run[linear_sum_assignment(cdist(best, run, "cityblock"))[1]] for run in runs])
