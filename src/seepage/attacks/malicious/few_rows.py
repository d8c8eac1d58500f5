"""Bins with two or three rows: their slopes differ, so every category and every ramp says whose it is.

A column in which all rows of the bin differ shows their slopes; every other column must then be made of these. Numbers
are placed between the ramps from above: what a stretch between two ramps adds says which row ends there, and where.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from seepage.attacks.malicious.features import Features
from seepage.attacks.malicious.numbers import Stretches, placed
from seepage.attacks.malicious.one_row import Found, carried, whole_numbers
from seepage.data import Layout
from seepage.observation import Space

MOST = 3  # rows


@dataclass(frozen=True, eq=False)
class Slopes:
    """The slopes of a bin's rows, and what each set of rows adds up to.

    Args:
        own: (rows,).
        sets: (sets, rows) all sets of rows, as ones and zeros; the empty one first.
        totals: (sets,).
    """

    own: np.ndarray
    sets: np.ndarray
    totals: np.ndarray

    @staticmethod
    def of(own: np.ndarray) -> Slopes:
        """All sets of these."""
        sets = np.array(list(itertools.product((0, 1), repeat=len(own))), dtype=bool)
        return Slopes(own, sets, sets @ own)

    @property
    def apart(self) -> float:
        """How far the nearest two totals are from each other."""
        return float(np.diff(np.sort(self.totals)).min())


def few_rows(sums: np.ndarray, error: np.ndarray, features: Features, space: Space) -> Found | None:
    """The rows of a bin, or None if it does not hold two or three, or if they cannot be told apart.

    Args:
        sums: (1 + features,) of the bin.
        error: (1 + features,) what rounding may have done to each.
    """
    layout = space.layout
    shares = sums[1 : 1 + layout.width] / features.unit
    slack = 4 * error[1 : 1 + layout.width] / features.unit
    slopes = _slopes(float(sums[0]), shares, slack, layout)
    if slopes is None:
        return None
    rows = np.tile(features.origin, (len(slopes.own), 1))
    if not all(_filled_in(rows, slopes, shares, slack, features, block) for block in layout.blocks):
        return None
    for column in range(layout.numeric):
        found = _numbers(column, slopes, sums, error, features, space)
        if found is None:
            return None
        rows[:, column] = found
    return _checked(rows, slopes.own, sums, error, features, space)


def _checked(
    rows: np.ndarray, slopes: np.ndarray, sums: np.ndarray, error: np.ndarray, features: Features, space: Space
) -> Found | None:
    """The rows if together they make up everything in the bin."""
    numeric = slice(0, space.layout.numeric)
    slack = 5 * error[1:][numeric] / np.abs(slopes).min()
    rows[:, numeric], settled = whole_numbers(rows[:, numeric], np.tile(slack, (len(rows), 1)), space, features.usual)
    made = features.of(rows)
    if (np.abs(slopes @ made - sums) > 5 * error + np.abs(made).sum(0) * 3 * error[0] + 1e-12).any():
        return None
    own = carried(made, slopes, np.tile(3 * error, (len(rows), 1)), settled, features)
    return Found(rows, slopes, np.full(len(rows), -1), *own)


def _slopes(total: float, shares: np.ndarray, slack: np.ndarray, layout: Layout) -> Slopes | None:
    """The slopes of the rows, from the column with the most categories."""
    best: np.ndarray | None = None
    for block in layout.blocks:
        filled = block.start + np.flatnonzero(np.abs(shares[block]) > slack[block])
        if len(filled) > MOST:
            return None
        whole = abs(shares[filled].sum() - total) <= 3 * slack[filled].max(initial=0.0)
        if whole and len(filled) > (1 if best is None else len(best)):
            best = shares[filled]
    if best is None:
        return None
    slopes = Slopes.of(best)
    return slopes if slopes.apart > 8 * slack[layout.numeric :].max() else None


def _filled_in(
    rows: np.ndarray, slopes: Slopes, shares: np.ndarray, slack: np.ndarray, features: Features, block: slice
) -> bool:
    """Write a column's categories into the rows; False if the column is not made of the slopes."""
    away = np.abs(shares[block, None] - slopes.totals)
    nearest = away.argmin(1)
    if (away.min(1) > 2 * slack[block]).any():
        return False
    chosen = slopes.sets[nearest].T  # rows, categories
    if (chosen.sum(1) != 1).any():
        return False
    rows[:, block] += chosen * features.unit[block]
    return True


def _numbers(
    column: int, slopes: Slopes, sums: np.ndarray, error: np.ndarray, features: Features, space: Space
) -> np.ndarray | None:
    """(rows,) the values of a number; None if none fit, or more than one way does."""
    own = np.flatnonzero(features.columns == column)
    order = own[np.argsort(features.heights[own])]
    places = np.concatenate([[1 + column], 1 + len(features.origin) + order])
    starts = np.concatenate([[features.origin[column]], features.heights[order]])
    whole = space.integers is not None and bool(space.integers[column]) and space.scale is not None
    stretches = Stretches(
        starts=starts,
        seen=sums[places],
        slack=5 * error[places] + 1e-12,
        slopes=slopes.own,
        scale=float(space.scale[column]) if whole and space.scale is not None else None,
        shift=float(space.shift[column]) if whole and space.shift is not None else 0.0,
    )
    ways = list(itertools.islice(_different(placed(stretches), stretches.width), 2))
    return ways[0] if len(ways) == 1 else None


def _different(ways: Iterator[np.ndarray], width: float) -> Iterator[np.ndarray]:
    """Those that differ by more than rounding from the ones before."""
    known: list[np.ndarray] = []
    for way in ways:
        if all(np.abs(way - other).max() > width for other in known):
            known.append(way)
            yield way
