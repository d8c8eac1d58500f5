"""Held, broken or not tested."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seepage.results import Interval
from seepage.results.defended import Defended, judge

GUESS = Interval(0.5, 0.45, 0.55)
LOW, HIGH = Interval(0.4, 0.3, 0.5), Interval(0.8, 0.7, 0.9)
ONE = Interval(0.9, None, None)


@pytest.mark.parametrize(
    ("naive", "adaptive", "guess", "verdict"),
    [
        (LOW, LOW, GUESS, Defended.HELD),
        (None, LOW, GUESS, Defended.HELD),
        (LOW, HIGH, GUESS, Defended.BROKEN),
        (HIGH, LOW, GUESS, Defended.BROKEN),
        (HIGH, None, GUESS, Defended.BROKEN),
        (LOW, None, GUESS, Defended.NOT_TESTED),
        (None, None, GUESS, Defended.NOT_TESTED),
        (HIGH, HIGH, None, Defended.NOT_TESTED),
        (LOW, ONE, GUESS, Defended.NOT_TESTED),
    ],
)
def test_verdicts(naive: Interval | None, adaptive: Interval | None, guess: Interval | None, verdict: Defended) -> None:
    assert judge(naive, adaptive, guess) is verdict


shares = st.floats(0, 1)
intervals = st.none() | st.tuples(shares, shares, shares).map(
    lambda each: Interval(*sorted(each)[1:2], *sorted(each)[::2])
)


@given(intervals, intervals, intervals)
def test_a_stronger_attack_never_turns_broken_into_held(
    naive: Interval | None, adaptive: Interval | None, guess: Interval | None
) -> None:
    before = judge(naive, adaptive, guess)
    after = judge(naive, Interval(1.0, 1.0, 1.0), guess)
    assert before is not Defended.BROKEN or after is Defended.BROKEN
    assert judge(naive, None, guess) is not Defended.HELD
