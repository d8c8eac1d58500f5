"""Means with bootstrap intervals."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from seepage._core import Streams
from seepage.results.federations import Groups, drawn_in_groups, groups_of, levelled

AT_ONCE = 1024  # columns resampled together: enough to keep the processor busy, few enough to stay in its cache


@dataclass(frozen=True)
class Interval:
    """A mean and its confidence interval; the ends are None when one value gives no idea of the spread."""

    mean: float
    low: float | None
    high: float | None

    def within(self, low: float, high: float) -> Interval:
        """Cut off where the mean cannot be: resampling trainings and then batches can step over the ends."""
        if self.low is None or self.high is None:
            return self
        return Interval(self.mean, max(self.low, low), min(self.high, high))

    def to_dict(self) -> dict[str, float | None]:
        return {"mean": self.mean, "low": self.low, "high": self.high}


def bootstrap(
    values: Sequence[float],
    weights: Sequence[float] | None = None,
    federations: np.ndarray | None = None,
    *,
    confidence: float = 0.95,
    draws: int = 2000,
) -> Interval | None:
    """The mean of ``values`` with an expanded percentile bootstrap interval; None when there is no value.

    The plain percentile interval is too short for few values: at ten it covers about 90 % instead of 95 %. Its levels
    are widened as Student's t widens those of the normal distribution (Hesterberg 2015, section 5.2). Below five values
    even that covers less than it says, because resampling cannot leave the range that was seen.

    The resampling uses a fixed stream: the same values always give the same interval. NaN (a number that does not
    apply, such as numeric accuracy without numeric columns) and infinity (a loss that diverged) are left out.

    With ``weights``, the weighted mean: shares of batches that hold different numbers of cells become the share of all
    cells, while whole batches are still what is resampled, because cells of one batch are not independent.

    With ``federations``, of which each value is, these are drawn first and then values in them.
    """
    heavy = np.ones(len(values)) if weights is None else np.array(weights, dtype=np.float64)
    array = np.array(values, dtype=np.float64)
    known = np.isfinite(array) & (heavy > 0)
    array, heavy = array[known], heavy[known]
    groups = None if federations is None else groups_of(federations[known])
    if not len(array):
        return None
    mean = float((array * heavy).sum() / heavy.sum())
    if len(array) == 1:
        return Interval(mean, None, None)
    drawn = _drawn(len(array), draws) if groups is None else drawn_in_groups(groups, draws)
    worth = len(array) if groups is None else int(levelled(array[:, None], groups)[1][0])
    tail = _tail(worth, confidence)
    means = (drawn @ (array * heavy)) / (drawn @ heavy)
    low, high = np.quantile(means, [tail, 1 - tail])
    return Interval(mean, float(low), float(high))


def bootstrap_columns(
    table: np.ndarray, federations: np.ndarray | None = None, *, confidence: float = 0.95, draws: int = 2000
) -> list[Interval | None]:
    """:func:`bootstrap` of every column at once: columns with values in the same rows share one product of matrices.

    Args:
        table: (trials, columns).
        federations: (trials,) of which federation each trial is; with several, these are drawn first
            (``federations.py``). Without, or with one, trials are drawn alone.
    """
    found: list[Interval | None] = [None] * table.shape[1]
    if not table.size:
        return found
    known = np.isfinite(table)
    if known.all():  # as nearly always
        patterns, group = known[:, :1], np.zeros(table.shape[1], dtype=np.intp)
    else:
        patterns, group = np.unique(known, axis=1, return_inverse=True)
    for number in range(patterns.shape[1]):
        columns = np.flatnonzero(group.reshape(-1) == number)
        values = table if patterns.shape[1] == 1 and known.all() else table[np.ix_(patterns[:, number], columns)]
        if not len(values):
            continue
        means = values.mean(0)
        if len(values) == 1:
            ends: np.ndarray | None = None
        else:
            own = None if federations is None else groups_of(federations[patterns[:, number]])
            ends = _ends(values, own, confidence, draws)
        for place, column in enumerate(columns):
            low, high = (None, None) if ends is None else (float(ends[0, place]), float(ends[1, place]))
            found[column] = Interval(float(means[place]), low, high)
    return found


def _ends(values: np.ndarray, groups: Groups | None, confidence: float, draws: int) -> np.ndarray:
    """(2, columns) the quantiles of the resampled means.

    Single precision: it is twice as fast, and its rounding (1e-7) is nothing beside the error of resampling. The
    deviations from the means are resampled, so that nothing is lost where all values are nearly equal.
    """
    means = values.mean(0)
    if groups is None:
        moved, worth = values - means, np.full(values.shape[1], len(values))
    else:
        moved, worth = levelled(values, groups)
    moved, drawn = moved.astype(np.float32), _drawn_single(len(values), groups, draws)
    tails = np.array([_tail(int(count), confidence) for count in worth])  # looked up, mostly
    ends = np.empty((2, values.shape[1]))

    def resample(begin: int) -> None:
        part = slice(begin, begin + AT_ONCE)
        resampled = np.sort(moved[:, part].T @ drawn, axis=1)  # (columns, draws)
        lines = np.arange(len(resampled))
        for line, levels in enumerate((tails[part], 1 - tails[part])):
            place = levels * (draws - 1)  # as numpy's quantile, which looks for places one by one and takes longer
            below = np.minimum(place.astype(np.intp), draws - 2)
            low, high = resampled[lines, below].astype(np.float64), resampled[lines, below + 1]
            ends[line, part] = low + (place - below) * (high - low)

    with ThreadPoolExecutor(os.cpu_count()) as threads:  # numpy works without Python's lock
        list(threads.map(resample, range(0, values.shape[1], AT_ONCE)))
    ends /= len(values)
    ends += means
    return ends


@lru_cache(maxsize=16)
def _drawn_single(count: int, groups: Groups | None, draws: int) -> np.ndarray:
    """(count, draws)"""
    drawn = _drawn(count, draws) if groups is None else drawn_in_groups(groups, draws)
    return np.ascontiguousarray(drawn.T.astype(np.float32))


@lru_cache(maxsize=16)
def _drawn(count: int, draws: int) -> np.ndarray:
    """(draws, count) how often each value is drawn; a fixed stream, so that the same values give the same interval."""
    picks = Streams(0).numpy("bootstrap", count).integers(count, size=(draws, count))
    drawn = np.zeros((draws, count))
    np.add.at(drawn, (np.arange(draws)[:, None], picks), 1.0)
    return drawn


@lru_cache(maxsize=1024)
def _tail(count: int, confidence: float) -> float:
    from scipy.special import ndtr, stdtrit  # takes half a second to load

    return float(ndtr(math.sqrt(count / (count - 1)) * stdtrit(count - 1, (1 - confidence) / 2)))
