"""The numbers of a few rows, from ramps: each ramp adds up, with the rows' slopes, how far they are above its start."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

TRIED = 4000  # whole numbers of one stretch that are tried


@dataclass(frozen=True, eq=False)
class Stretches:
    """One number of the rows of one bin.

    Args:
        starts: (ramps,) ascending; the first is below all values.
        seen: (ramps,) the sum of slope times height above the start, over the rows above it.
        slack: (ramps,) what rounding may have done to each.
        slopes: (rows,).
        scale, shift: from inputs to whole numbers; None if they are not whole.
    """

    starts: np.ndarray
    seen: np.ndarray
    slack: np.ndarray
    slopes: np.ndarray
    scale: float | None
    shift: float

    @property
    def width(self) -> float:
        """How well a value is known."""
        return float(2 * self.slack.max() / np.abs(self.slopes).min())

    def whole(self, value: float, slope: float, slack: float) -> bool:
        """Whether a value can be one of the column."""
        if self.scale is None:
            return True
        raw = value * self.scale + self.shift
        return bool(abs(raw - round(raw)) <= 0.01 + slack / abs(slope) * self.scale)


def placed(given: Stretches) -> Iterator[np.ndarray]:
    """Every way to give each row a value so that all ramps fit, from the highest stretch to the lowest."""
    yield from _from(given, len(given.starts) - 1, (), {})


def _from(given: Stretches, stretch: int, above: tuple[int, ...], values: dict[int, float]) -> Iterator[np.ndarray]:
    """The ways to place the other rows in this stretch and those below it."""
    if stretch < 0:
        if len(values) == len(given.slopes):
            yield np.array([values[row] for row in range(len(values))])
        return
    low = float(given.starts[stretch])
    left = float(given.seen[stretch] - sum(given.slopes[row] * (values[row] - low) for row in above))
    slack = float(given.slack[stretch]) * (1 + len(above))
    high = float(given.starts[stretch + 1]) if stretch + 1 < len(given.starts) else np.inf
    if abs(left) <= slack:
        yield from _from(given, stretch - 1, above, values)
    rest = [row for row in range(len(given.slopes)) if row not in values]
    for row in rest:
        slope = float(given.slopes[row])
        value = low + left / slope
        near = slack / abs(slope)
        if low + near < value <= high + near and given.whole(value, slope, slack):
            yield from _from(given, stretch - 1, (*above, row), values | {row: value})
    if given.scale is not None:
        for pair in itertools.combinations(rest, 2):
            for both in _both(given, pair, low, high, left, slack):
                yield from _from(given, stretch - 1, (*above, *pair), values | dict(zip(pair, both, strict=True)))


def _both(
    given: Stretches, pair: tuple[int, ...], low: float, high: float, left: float, slack: float
) -> list[tuple[float, float]]:
    """Whole numbers of two rows in one stretch that fit."""
    assert given.scale is not None
    first, last = np.ceil(low * given.scale + given.shift), np.floor(high * given.scale + given.shift)
    if not 0 < last - first + 1 <= TRIED:
        return []
    slopes = given.slopes[list(pair)]
    one = (np.arange(first, last + 1) - given.shift) / given.scale
    other = low + (left - slopes[0] * (one - low)) / slopes[1]
    whole = np.round(other * given.scale + given.shift)
    near = np.abs(other - (whole - given.shift) / given.scale) <= slack / abs(slopes[1])
    fits = near & (whole >= first) & (whole <= last)
    return list(zip(one[fits].tolist(), ((whole[fits] - given.shift) / given.scale).tolist(), strict=True))
