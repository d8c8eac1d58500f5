"""What a stage will take is told from what others took, and work ends with the budget."""

from __future__ import annotations

import pytest

from seepage.advice.clock import Clock, OutOfTime
from seepage.advice.costs import Costs
from seepage.advice.space import Candidate
from seepage.advice.stages import ARSENAL, LONGER_THAN, PRESS, SCREEN
from seepage.advice.state import Chunk, Rate

NOISE = Candidate(defense="gaussian_noise:0.1")
QUICK = SCREEN.defended[0]


def chunk(stage: str, attack: str, seconds: float, rate: float, updates: int = 10) -> Chunk:
    rates = [Rate(place=0, attack=attack, seconds=rate, updates=updates)]
    return Chunk(folder="x", stage=stage, settings=[vars(NOISE)], trials=updates, seconds=seconds, rates=rates)


def test_nothing_is_known_before_anything_was_run() -> None:
    assert Costs([], clients=10, jobs=1).seconds(SCREEN, [NOISE], 10) is None


def test_the_full_length_is_guessed_from_a_short_attack_until_it_was_run() -> None:
    quick = chunk("screen", QUICK, seconds=3.0, rate=0.1)
    guessed = Costs([quick], clients=10, jobs=1).seconds(PRESS, [NOISE], 5)
    assert guessed == pytest.approx(1.2 * (2.0 + 5 * 0.1 * LONGER_THAN["adaptive"]))
    measured = Costs([quick, chunk("press", "adaptive", 12.0, 2.0, 5)], clients=10, jobs=1).seconds(PRESS, [NOISE], 5)
    assert measured == pytest.approx(1.2 * (2.0 + 5 * 2.0))


def test_more_updates_and_more_settings_take_longer_and_more_processes_less() -> None:
    costs = Costs([chunk("screen", QUICK, 3.0, 0.1)], clients=10, jobs=1)
    few, many = costs.seconds(ARSENAL, [NOISE], 3), costs.seconds(ARSENAL, [NOISE], 10)
    beside = costs.seconds(ARSENAL, [NOISE], 10, beside=True)
    shared = Costs([chunk("screen", QUICK, 3.0, 0.1)], clients=10, jobs=2).seconds(SCREEN, [NOISE, NOISE], 10)
    alone = costs.seconds(SCREEN, [NOISE, NOISE], 10)
    assert few is not None
    assert many is not None
    assert beside is not None
    assert shared is not None
    assert alone is not None
    assert few < many < beside
    assert shared < alone


def test_a_run_that_did_not_end_says_nothing() -> None:
    unfinished = chunk("press", "adaptive", 12.0, 2.0).model_copy(update={"seconds": None})
    assert Costs([unfinished], clients=10, jobs=1).seconds(PRESS, [NOISE], 5) is None


def test_work_ends_with_the_budget_and_not_before() -> None:
    told: list[str] = []

    def keep(label: str, done: int, total: int, note: str = "") -> None:
        told.append(label)

    Clock(budget=100.0, before=0.0).ending(keep)("attack", 1, 2)
    with pytest.raises(OutOfTime):
        Clock(budget=10.0, before=10.0).ending(keep)("drawing", 1, 2)
    assert told == ["attack", "drawing"]
    assert not issubclass(OutOfTime, Exception)  # an attack that is stopped must not be counted as failed
