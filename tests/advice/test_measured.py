"""What a few trainings say about a score."""

from __future__ import annotations

from dataclasses import replace

import pytest

from seepage.advice import words
from seepage.advice.limits import unseen
from seepage.advice.measured import Leak, lost, pooled, worth
from seepage.results.interval import Interval


def test_two_trainings_do_not_put_a_cost_beyond_doubt() -> None:
    plain = {(0, 0): 0.80, (0, 1): 0.82}
    loss = lost({(0, 0): 0.75, (0, 1): 0.78}, plain)
    assert loss is not None
    assert loss.low is not None
    assert loss.low < 0 < loss.mean


def test_one_training_has_no_interval_and_many_a_short_one() -> None:
    one = worth({(0, 0): 0.8})
    many = worth({(0, place): 0.8 + 0.001 * place for place in range(8)})
    assert one is not None
    assert many is not None
    assert one.low is None
    assert many.low is not None
    assert many.high is not None
    assert many.high - many.low < 0.01


def leak(trials: int, rows_exact: int, gain: Interval) -> Leak:
    share = rows_exact / (8 * trials)
    return Leak(
        attack="fast", attacks=("fast",), trials=trials, rows=8 * trials, rows_exact=rows_exact, rows_guessed=0,
        exact=Interval(share, 0.0, 1.0), gain=gain,
    )  # fmt: skip


def test_updates_of_two_stages_count_as_one_sample() -> None:
    few, many = leak(10, 0, Interval(0.04, -0.08, 0.16)), leak(30, 0, Interval(0.0, -0.05, 0.05))
    both = pooled([few, many])
    assert (both.trials, both.rows, both.exact.mean) == (40, 320, 0.0)
    assert both.exact.high == pytest.approx(unseen(40))
    assert both.gain.mean == pytest.approx(0.01)
    assert both.gain.high is not None
    assert both.gain.high - both.gain.mean < 0.05  # shorter than that of either


def test_a_row_that_either_stage_read_stays_read() -> None:
    both = pooled([leak(10, 2, Interval(0.1, 0.0, 0.2)), leak(30, 0, Interval(0.0, -0.04, 0.04))])
    assert both.rows_exact == 2
    assert both.exact.mean == pytest.approx(2 / 320)


def test_without_an_interval_of_one_there_is_none_of_both() -> None:
    both = pooled([leak(1, 0, Interval(0.1, None, None)), leak(30, 0, Interval(0.0, -0.04, 0.04))])
    assert both.gain.low is None
    assert both.gain.high is None


def test_presence_is_of_the_updates_of_which_it_could_be_told() -> None:
    told = leak(10, 0, Interval(0.0, -0.1, 0.1))
    some = replace(told, presence=Interval(0.2, 0.1, 0.3))
    assert pooled([told, told]).presence is None
    assert pooled([some, told]).presence == some.presence
    assert "20.0% of the categories" in words._read(some)
    assert "categories" not in words._read(told)
