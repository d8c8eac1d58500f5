"""From several restarts to one answer, by their own losses only."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from seepage.attacks.inversion.pooling.align import SOFT_ROWS, Alignment, Likeness, RightCells, SoftRows, align, merged
from seepage.attacks.inversion.pooling.best import Best
from seepage.attacks.inversion.pooling.doubt import doubt
from seepage.attacks.inversion.pooling.ensemble import Ensemble
from seepage.data import Layout


class Pooling(Protocol):
    """Aligned restarts (runs, rows, width) in raw block units and their losses (runs,) to one set of rows."""

    def __call__(self, aligned: np.ndarray, losses: np.ndarray, layout: Layout) -> np.ndarray: ...


__all__ = [
    "SOFT_ROWS",
    "Alignment",
    "Best",
    "Ensemble",
    "Likeness",
    "Pooling",
    "RightCells",
    "SoftRows",
    "align",
    "doubt",
    "merged",
]
