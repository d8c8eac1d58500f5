"""What is known about the whole data set: supports, marginals and deviations of the training part."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from seepage.data import Table
from seepage.metrics.resolution import resolution

BINS = 100  # equal bins between the bounds, as in TabLeak


@dataclass(frozen=True)
class Reference:
    """Marginals of a table.

    Args:
        table: its rows.
        low, high, deviation: of each number.
        resolution: the step in which each number is told.
        histograms: (numeric columns, BINS) shares.
        shares: for each categorical column, the share of each category.
    """

    table: Table
    low: np.ndarray
    high: np.ndarray
    deviation: np.ndarray
    resolution: np.ndarray
    histograms: np.ndarray
    shares: tuple[np.ndarray, ...]

    @staticmethod
    def of(table: Table) -> Reference:
        """The marginals of this table."""
        numbers = table.numbers
        low, high = numbers.min(0), numbers.max(0)
        counts = [
            np.histogram(numbers[:, j], bins=BINS, range=(low[j], high[j]) if low[j] < high[j] else None)[0]
            for j in range(numbers.shape[1])
        ]
        shares = []
        for position, column in enumerate(table.schema.categorical):
            codes = table.codes[:, position]
            count = np.bincount(codes[codes >= 0], minlength=len(column.categories)).astype(np.float64)
            shares.append(count / max(count.sum(), 1))
        histograms = np.array(counts, dtype=np.float64).reshape(numbers.shape[1], BINS) / len(table)
        # A column of one value has a deviation of about 1e-17 by rounding; it is 0.
        deviation = np.where(low < high, numbers.std(0), 0.0)
        return Reference(table, low, high, deviation, resolution(table), histograms, tuple(shares))
