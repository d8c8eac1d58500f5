"""Limits: what is allowed, and what they refuse."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seepage import InputError
from seepage.advice.limits import Limits, Verdict, at_most, unseen, worst
from seepage.results.interval import Interval


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"min_auc": 0.8, "max_loss": 0.01}, "give one of them"),
        ({"min_auc": 0.5}, "a guess"),
        ({"min_auc": 1.0}, "no mistake"),
        ({"max_loss": -0.1}, "--max-loss is -0.1"),
        ({"gain": -0.01}, "--max-gain is -0.01"),
        ({"rows_exact": 1.0}, "would allow everything"),
    ],
)
def test_limits_that_make_no_sense_are_told(values: dict[str, float], words: str) -> None:
    with pytest.raises(InputError, match=words):
        Limits(**values)  # type: ignore[arg-type]


def test_an_auc_is_of_two_classes() -> None:
    with pytest.raises(InputError, match="this one is regression; say --max-loss"):
        Limits(min_auc=0.8).check_task("regression")
    Limits(min_auc=0.8).check_task("binary")
    Limits(max_loss=0.1).check_task("regression")


def test_a_row_that_was_read_breaks_a_limit_of_none_whatever_its_interval() -> None:
    assert Limits().of_rows(Interval(0.01, 0.0, 0.1)) is Verdict.BROKEN
    assert Limits(rows_exact=0.05).of_rows(Interval(0.01, 0.0, 0.1)) is Verdict.UNCLEAR
    assert Limits().of_rows(Interval(0.0, 0.0, 0.3)) is Verdict.HELD


def test_worth_is_judged_by_what_was_asked_for() -> None:
    worth, loss = Interval(0.8, 0.79, 0.81), Interval(0.05, 0.04, 0.06)
    assert Limits(min_auc=0.78).of_worth(worth, loss) is Verdict.HELD
    assert Limits(min_auc=0.82).of_worth(worth, loss) is Verdict.BROKEN
    assert Limits(max_loss=0.01).of_worth(worth, loss) is Verdict.BROKEN
    assert Limits(max_loss=0.05).of_worth(worth, loss) is Verdict.UNCLEAR


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1))
def test_a_looser_limit_is_never_judged_worse(first: float, second: float, most: float) -> None:
    low, high = sorted((first, second))
    value, looser = Interval((low + high) / 2, low, high), min(1.0, most + 0.1)
    assert worst(at_most(value, most), at_most(value, looser)) is at_most(value, most)


def test_more_updates_leave_less_unseen() -> None:
    assert unseen(0) == 1.0
    assert unseen(10) > unseen(60) > unseen(300) > 0
