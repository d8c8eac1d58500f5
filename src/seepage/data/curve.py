"""A number bent by its quantiles, as scikit-learn's QuantileTransformer does it, and the way back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri  # the normal distribution of scipy.stats, without the second that takes to load

_EDGE = 1e-7  # normal scores of a column's ends would be infinite: they stop this far from 0 and 1
_END = float(ndtri(1 - (_EDGE - np.spacing(1))))


@dataclass(frozen=True)
class Curve:
    """The share of rows below a value, read off between known quantiles; or the normal score of that share.

    Where a value is frequent several quantiles are equal: the share is then the middle of theirs.

    Args:
        values: the quantiles, in order.
        levels: their shares, from 0 to 1.
        normal: give normal scores instead of shares.
    """

    values: tuple[float, ...]
    levels: tuple[float, ...]
    normal: bool = False

    def bend(self, numbers: np.ndarray) -> np.ndarray:
        """Values to shares or scores."""
        values, levels = np.array(self.values), np.array(self.levels)
        left = np.interp(numbers, values, levels)
        right = -np.interp(-numbers, -values[::-1], -levels[::-1])
        edge = _EDGE if self.normal else 0.0
        share = np.where(
            numbers + edge > values[-1], 1.0, np.where(numbers - edge < values[0], 0.0, (left + right) / 2)
        )
        if not self.normal:
            return np.where(numbers == values[-1], 1.0, np.where(numbers == values[0], 0.0, share))
        with np.errstate(divide="ignore"):
            scores: np.ndarray = np.clip(ndtri(share), -_END, _END)
        return scores

    def straighten(self, bent: np.ndarray) -> np.ndarray:
        """Shares or scores to values."""
        share = ndtr(bent) if self.normal else np.asarray(bent, dtype=np.float64)
        values: np.ndarray = np.interp(share, np.array(self.levels), np.array(self.values))
        return values
