"""Who is better than whom: only where intervals part."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from seepage.advice.frontier import Point, dominated_by, dominates, pareto, parts_below
from seepage.results.interval import Interval

shares = st.integers(0, 10).map(lambda value: value / 10)


@st.composite
def intervals(draw: st.DrawFn) -> Interval:
    low, mean, high = sorted(draw(st.tuples(shares, shares, shares)))
    return Interval(mean, low, high) if draw(st.integers(0, 5)) else Interval(mean, None, None)


points = st.builds(
    Point, name=st.just(""), exact=intervals(), gain=intervals(), utility=intervals(),
    presence=st.none() | intervals(),
)  # fmt: skip
several = st.lists(points, min_size=1, max_size=6).map(
    lambda found: [replace(point, name=str(place)) for place, point in enumerate(found)]
)


@given(points, points)
def test_two_never_dominate_each_other(one: Point, other: Point) -> None:
    assert not (dominates(one, other) and dominates(other, one))
    assert not dominates(one, one)


@given(points, points)
def test_who_dominates_is_nowhere_worse_by_its_mean(one: Point, other: Point) -> None:
    if dominates(one, other):
        assert one.exact.mean <= other.exact.mean
        assert one.gain.mean <= other.gain.mean
        assert one.utility.mean >= other.utility.mean


@given(points, points)
def test_wider_intervals_never_make_a_domination(one: Point, other: Point) -> None:
    def wider(value: Interval) -> Interval:
        return Interval(value.mean, (value.low or 0) - 1, (value.high or 0) + 1)

    wide = replace(one, exact=wider(one.exact), gain=wider(one.gain), utility=wider(one.utility))
    if dominates(wide, other):
        assert dominates(one, other)


@given(several)
def test_there_is_always_a_frontier_and_it_does_not_depend_on_the_order(every: list[Point]) -> None:
    front = pareto(every)
    assert front
    assert set(front) == set(pareto(every[::-1]))
    assert {point.name for point in front} == {name for name, by in dominated_by(every).items() if not by}


def test_an_interval_without_ends_parts_from_nothing() -> None:
    assert not parts_below(Interval(0.0, None, None), Interval(1.0, 0.9, 1.0))
    assert not parts_below(Interval(0.0, 0.0, 0.1), Interval(1.0, None, None))


def test_who_tells_of_more_categories_whether_a_batch_has_them_dominates_nobody_who_does_not() -> None:
    nothing, worth = Interval(0.0, 0.0, 0.0), Interval(0.9, 0.89, 0.91)
    hides = Point(name="hides", exact=nothing, gain=nothing, utility=Interval(0.8, 0.79, 0.81))
    better = replace(hides, name="better", utility=worth)
    assert dominates(better, hides)
    tells = replace(better, presence=Interval(0.2, 0.15, 0.25))
    assert not dominates(tells, hides)
    assert not dominates(tells, replace(hides, presence=Interval(0.05, 0.0, 0.1)))
    assert dominates(tells, replace(hides, presence=Interval(0.2, 0.1, 0.3)))  # not told apart
