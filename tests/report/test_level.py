"""The traffic light."""

from __future__ import annotations

import pytest

from seepage.report.leaks import Leak
from seepage.report.level import Level, overall
from seepage.results import Interval
from tests.report.leak import a_leak

Guesses = dict[str, Interval | None]


def gained(mean: float, low: float | None, high: float | None) -> Guesses:
    return {"prior": Interval(mean, low, high), "uniform": None, "marginal": None}


CASES: dict[str, tuple[dict[str, object], Level]] = {
    "rows and cells": ({}, Level.LEAKS),
    "cells alone": ({"rows_exact": 0}, Level.LEAKS),
    "a little": ({"rows_exact": 0, "gain": gained(0.1, 0.05, 0.15)}, Level.SOME),
    "single rows": ({"rows_exact": 3, "gain": gained(0.0, -0.1, 0.1)}, Level.SOME),
    "proven rows, and of all others less than a guess tells": (
        {"rows_exact": 30, "rows_certified": 20, "gain": gained(0.0, -0.1, 0.1)},
        Level.LEAKS,
    ),
    "rows that a guess reads as well are no evidence": (
        {"rows_exact": 3, "rows_guessed_near": 5, "gain": gained(0, -0.1, 0.1), "emr_gain": gained(-0.02, -0.1, 0)},
        Level.NOT_FOUND,
    ),
    "a few rows that nobody guesses are, however wide the interval": (
        {"rows_exact": 4, "gain": gained(-0.1, -0.2, 0), "emr_gain": gained(0.01, 0, 0.03)},
        Level.SOME,
    ),
    "nothing": ({"rows_exact": 0, "gain": gained(0.02, -0.01, 0.05)}, Level.NOT_FOUND),
    "an attack failed": ({"rows_exact": 0, "gain": gained(0.02, -0.01, 0.05), "failed": 1}, Level.INCOMPLETE),
    "it ran out of steps": (
        {"rows_exact": 0, "gain": gained(0.0, -0.1, 0.1), "outcome": "budget_spent"},
        Level.INCOMPLETE,
    ),
    "one batch says little": ({"rows_exact": 0, "gain": gained(-0.1, None, None)}, Level.INCOMPLETE),
    "an interval that reaches a serious gain": ({"rows_exact": 0, "gain": gained(0.0, -0.2, 0.2)}, Level.INCOMPLETE),
    "one batch above guessing": ({"rows_exact": 0, "gain": gained(0.1, None, None)}, Level.SOME),
    "no number": ({"metrics": {}, "rows_exact": 0, "failed": 10}, Level.NOT_MEASURED),
}


@pytest.mark.parametrize(("changes", "level"), CASES.values(), ids=CASES)
def test_level_of_a_setting(changes: dict[str, object], level: Level) -> None:
    leak: Leak = a_leak(**changes)
    assert leak.level is level


@pytest.mark.parametrize(
    ("levels", "together"),
    [
        ([Level.NOT_FOUND, Level.LEAKS, Level.NOT_MEASURED], Level.LEAKS),
        ([Level.NOT_FOUND, Level.SOME], Level.SOME),
        ([Level.NOT_FOUND, Level.NOT_FOUND], Level.NOT_FOUND),
        ([Level.NOT_FOUND, Level.NOT_MEASURED], Level.INCOMPLETE),
        ([Level.NOT_MEASURED], Level.NOT_MEASURED),
        ([], Level.NOT_MEASURED),
    ],
)
def test_a_failed_attack_never_makes_the_run_better(levels: list[Level], together: Level) -> None:
    assert overall(levels) is together


def test_no_level_promises_safety() -> None:
    assert not any("safe" in level.word.lower() for level in Level)
    assert [level.severity for level in Level] == [5, 4, 3, 2, 1]
