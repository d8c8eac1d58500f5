"""TabLeak's pooled ensemble."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from seepage._core import unknown_name
from seepage.data import Layout


@dataclass(frozen=True, kw_only=True)
class Ensemble:
    """Pools the aligned restarts cell by cell.

    Args:
        how: ``median`` (TabLeak), ``mean``, or ``vote`` (every restart votes for one category per block; numbers
            take the median).

    References:
        Vero et al., TabLeak, section 3.2.
    """

    how: Literal["median", "mean", "vote"] = "median"

    def __post_init__(self) -> None:
        if self.how not in ("median", "mean", "vote"):
            raise unknown_name("pooling", self.how, ("median", "mean", "vote"))

    def __call__(self, aligned: np.ndarray, losses: np.ndarray, layout: Layout) -> np.ndarray:
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
