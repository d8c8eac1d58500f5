"""Time that was taken, and how it is said."""

from __future__ import annotations

import pytest

from seepage._core.stopwatch import Stopwatch, duration


@pytest.mark.parametrize(
    ("seconds", "said"), [(1, "1 s"), (89, "89 s"), (90, "2 min"), (300, "5 min"), (5400, "1.5 h")]
)
def test_durations_in_words(seconds: float, said: str) -> None:
    assert duration(seconds) == said


def test_waiting_for_others_is_told_from_computing() -> None:
    watch = Stopwatch()
    with watch:
        sum(range(1000))
    assert watch.taken > 0
    assert watch.busy == 1.0  # too short to say
    watch.taken, watch.computed = 10.0, 4.0
    assert watch.busy == 2.5
    watch.computed = 20.0  # several threads
    assert watch.busy == 1.0
