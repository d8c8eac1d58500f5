"""Rows read from sums: as from one large batch, and whose they are is not said."""

from __future__ import annotations

import numpy as np
import pytest

from seepage._core import InputError, NotApplicable, Outcome
from seepage.attacks.cohorts import CategoriesOfSum, RowsOfSum, StackedSums
from tests.attacks.cohorts.example import answer, false_certificates, inputs_of, watched


def test_a_small_cohort_hides_nothing() -> None:
    sums, truth = watched(cohort=4)
    claim = answer(RowsOfSum(), sums)
    assert claim.certified is not None
    assert claim.certified.all()
    assert len(claim.certified) == len(inputs_of(truth)) == 8
    assert claim.owners is None
    assert false_certificates(claim, truth) == 0


def test_several_rounds_are_put_together() -> None:
    sums, truth = watched(cohort=3, rounds=3)
    claim = answer(RowsOfSum(), sums)
    assert claim.rows is not None
    assert claim.certified is not None
    assert len(claim.rows) == len(inputs_of(truth))
    assert claim.certified.mean() > 0.9
    assert false_certificates(claim, truth) == 0


def test_after_several_local_steps_the_first_layer_still_tells_rows() -> None:
    sums, truth = watched(cohort=2, rows=1, steps=3)
    claim = answer(RowsOfSum(), sums)
    assert claim.certified is not None
    assert claim.certified.any()
    assert false_certificates(claim, truth) == 0


def test_more_rows_than_the_layers_have_directions_hide() -> None:
    sums, _ = watched(cohort=8, rows=2, width=8)
    claim = answer(RowsOfSum(steps=2, starts=2, start_steps=5), sums)
    assert claim.certified is not None
    assert not claim.certified.any()


def test_the_same_cohort_twice_is_read_where_once_is_shut() -> None:
    sums, truth = watched(cohort=6, rows=2, clients=6, rounds=2, width=12)
    alone = answer(RowsOfSum(steps=2, starts=2, start_steps=5), sums[:1])
    both = answer(StackedSums(), sums)
    assert alone.certified is not None
    assert both.certified is not None
    assert not alone.certified.any()
    assert both.certified.all()
    assert false_certificates(both, truth) == 0


def test_a_search_that_gives_up_has_read_nothing() -> None:
    sums, truth = watched(cohort=6, rows=2, clients=6, rounds=2, width=12)
    claim = answer(StackedSums(nodes=1), sums)
    assert claim.outcome is Outcome.BUDGET_SPENT
    assert claim.rows is not None
    assert claim.certified is not None
    assert len(claim.rows) == len(inputs_of(truth))
    assert not claim.certified.any()


def test_different_cohorts_are_not_laid_on_each_other() -> None:
    sums, _ = watched(cohort=3, rounds=2)
    with pytest.raises(NotApplicable, match="2 different cohorts"):
        answer(StackedSums(), sums)


def test_categories_of_a_cohort_are_told() -> None:
    sums, truth = watched(cohort=5, rounds=2)
    claim = answer(CategoriesOfSum(), sums)
    assert claim.tally is not None
    rows = truth.of(truth.watched).rows
    for place, states in enumerate(claim.tally.present):
        there = np.bincount(rows.codes[:, place], minlength=len(states)) > 0
        assert ((states == 1) == there).all()


def test_a_budget_of_nothing_is_refused() -> None:
    with pytest.raises(InputError, match="starts is 0"):
        RowsOfSum(starts=0)
