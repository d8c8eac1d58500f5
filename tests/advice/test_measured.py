"""What a few trainings say about a score."""

from __future__ import annotations

from seepage.advice.measured import lost, worth


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
