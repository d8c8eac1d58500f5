"""The frontier: what leaks against what the model is worth, and who is better than whom beyond doubt.

Pure functions of intervals. One setting dominates another only where intervals part: two that overlap are not told
apart, so both stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from seepage.results.interval import Interval


@dataclass(frozen=True, kw_only=True)
class Point:
    """One setting on the plane of leakage and utility.

    Args:
        name: what it is called in the table.
        exact: share of rows that were read exactly; less is better.
        gain: share of cells read beyond guessing; less is better.
        utility: the score of the model; more is better.
        depth: how far its attacks went; what a weak attack did not read says nothing against a stronger one.
        presence: share of the categories of which it was told, beyond a guess, whether a batch has them; less is
            better, and None is none.

    Example:
        >>> certain = Interval(0.0, 0.0, 0.0)
        >>> Point(name="noise", exact=certain, gain=certain, utility=Interval(0.8, 0.79, 0.81)).name
        'noise'
    """

    name: str
    exact: Interval
    gain: Interval
    utility: Interval
    depth: int = 0
    presence: Interval | None = None


def parts_below(one: Interval, other: Interval) -> bool:
    """Whether an interval ends before the other begins. One without ends parts from nothing.

    Example:
        >>> parts_below(Interval(0.1, 0.0, 0.2), Interval(0.4, 0.3, 0.5))
        True
        >>> parts_below(Interval(0.1, 0.0, 0.35), Interval(0.4, 0.3, 0.5))
        False
    """
    return one.high is not None and other.low is not None and one.high < other.low


def dominates(one: Point, other: Point) -> bool:
    """Whether ``one`` is beyond doubt better in something, and in nothing else than better or the same.

    One that was attacked less than the other is never said to be better, nor one that tells of more categories whether
    a batch has them.

    Example:
        >>> nothing, much = Interval(0.0, 0.0, 0.1), Interval(0.9, 0.8, 1.0)
        >>> safe = Point(name="safe", exact=nothing, gain=nothing, utility=Interval(0.8, 0.79, 0.81))
        >>> open_ = Point(name="open", exact=much, gain=much, utility=Interval(0.7, 0.69, 0.71))
        >>> dominates(safe, open_), dominates(open_, safe)
        (True, False)
    """
    if one.depth < other.depth or _tells_more(one.presence, other.presence):
        return False
    pairs = [(one.exact, other.exact), (one.gain, other.gain), (_turned(one.utility), _turned(other.utility))]
    better = [parts_below(*pair) for pair in pairs]
    return any(better) and all(clear or _same(*pair) for clear, pair in zip(better, pairs, strict=True))


def pareto(points: Sequence[Point]) -> tuple[Point, ...]:
    """The points that no other one dominates, in their order; never empty if there is a point.

    Example:
        >>> nothing = Interval(0.0, 0.0, 0.0)
        >>> scores = [Interval(value, value, value) for value in (0.9, 0.6)]
        >>> good, poor = (Point(name=f"{u.mean}", exact=nothing, gain=nothing, utility=u) for u in scores)
        >>> [point.name for point in pareto([poor, good])]
        ['0.9']
    """
    return tuple(point for point in points if not any(dominates(other, point) for other in points))


def dominated_by(points: Sequence[Point]) -> dict[str, tuple[str, ...]]:
    """By the name of every point, the names of those that dominate it.

    Example:
        >>> dominated_by([])
        {}
    """
    return {point.name: tuple(other.name for other in points if dominates(other, point)) for point in points}


def _tells_more(one: Interval | None, other: Interval | None) -> bool:
    """Whether one tells more beyond doubt, or of something of which the other tells nothing."""
    return one is not None and (other is None or parts_below(other, one))


def _turned(interval: Interval) -> Interval:
    """With less as better."""
    low, high = interval.low, interval.high
    return Interval(-interval.mean, None if high is None else -high, None if low is None else -low)


def _same(one: Interval, other: Interval) -> bool:
    """Whether two numbers are the same, such as no row read by either."""
    return one.mean == other.mean
