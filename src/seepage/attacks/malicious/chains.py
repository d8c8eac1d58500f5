"""Cuts through the data: directions along which rows differ, and where to cut so that bins are equally full."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.interpolate import PchipInterpolator

LEVELS = 65  # quantiles that are taken from public rows; between them cuts are spread evenly
CATEGORIES = 0.5  # weight of a category beside a number's deviation


@dataclass(frozen=True, eq=False)
class Chain:
    """Rows in order along one direction, cut into bins.

    Args:
        direction: (width,) of the inputs.
        cuts: (bins + 1,) ascending; bin j is above cut j and not above cut j + 1. The last may be infinite.
    """

    direction: np.ndarray
    cuts: np.ndarray

    @property
    def bins(self) -> int:
        """How many there are."""
        return len(self.cuts) - 1

    def places(self, rows: np.ndarray) -> np.ndarray:
        """(rows,) the bin of each row; -1 where it is in none."""
        found = np.searchsorted(self.cuts, rows @ self.direction, side="left") - 1
        return np.where((found < 0) | (found >= self.bins), -1, found)


def make_chain(
    public: np.ndarray, numeric: int, bins: int, generator: np.random.Generator, *, covered: float = 1.0
) -> Chain:
    """A random direction with cuts at smoothed quantiles of public rows.

    Args:
        public: (rows, width) rows that the server makes up.
        numeric: how many of the inputs are numbers; they come first.
        covered: the share of the rows that the bins divide; one more bin takes all the others, and is too full to read.
    """
    direction: np.ndarray = generator.normal(size=(public.shape[1],))
    spread = public[:, :numeric].std(0)
    direction[:numeric] /= np.where(spread > 1e-9, spread, 1.0)
    direction[numeric:] *= CATEGORIES
    values = public @ direction
    levels = np.linspace(0, 1, max(2, min(LEVELS, len(public))))
    heights = np.maximum.accumulate(np.quantile(values, levels))
    reach = float(heights[-1] - heights[0]) or 1.0
    heights = heights + 1e-9 * reach * np.arange(len(heights))
    cuts = np.asarray(PchipInterpolator(levels, heights)(_shares(bins, covered, generator)), dtype=np.float64)
    # Public rows rarely hold the most extreme one: the outer bins reach further.
    cuts[0], cuts[-1] = cuts[0] - 10 * reach, cuts[-1] + 10 * reach
    return Chain(direction, cuts + 1e-10 * reach * np.arange(len(cuts)))


def _shares(bins: int, covered: float, generator: np.random.Generator) -> np.ndarray:
    """(bins + 1,) at which shares of the rows is cut: evenly, but for a stretch somewhere that is one bin."""
    if covered >= 1 or bins < 3:
        return np.linspace(0, 1, bins + 1)
    below = generator.uniform(0, covered)
    first = int(np.clip(round((bins - 1) * below / covered), 1, bins - 2))
    return np.concatenate([np.linspace(0, below, first + 1), np.linspace(below + 1 - covered, 1, bins - first)])
