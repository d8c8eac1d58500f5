"""The restart of the lowest loss."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from seepage.data import Layout


@dataclass(frozen=True, kw_only=True)
class Best:
    """Takes the restart whose own loss is lowest."""

    def __call__(self, aligned: np.ndarray, losses: np.ndarray, layout: Layout) -> np.ndarray:
        chosen: np.ndarray = aligned[losses.argmin()]
        return chosen
