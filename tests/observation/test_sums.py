"""What a server holds of a round: a sum, and nothing about a client alone."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from seepage._core import InputError
from seepage.observation.sums import CohortSum
from tests.attacks.cohorts.example import watched


def test_it_holds_neither_owners_nor_order() -> None:
    sums, truth = watched(cohort=3)
    names = {each.name for each in fields(CohortSum)}
    assert names == {"number", "cohort", "learner", "space", "parameters", "total", "exchange", "labels"}
    (only,) = sums
    assert only.exchange.rows == 6
    assert only.labels is None
    assert len(truth.owners) == 16
    said = only.describe(8, rerun=True)
    assert any("sum over a cohort of clients" in sentence for sentence in (*said.adversary, *said.sees))
    assert "Whose a row is." in said.does_not_know


def test_a_sum_without_its_number_of_rows_is_refused() -> None:
    only = watched(cohort=3)[0][0]
    with pytest.raises(InputError, match="how many rows each"):
        replace(only, exchange=replace(only.exchange, rows=0))


def test_cohorts_are_sets() -> None:
    only = watched(cohort=3)[0][0]
    with pytest.raises(InputError, match="empty"):
        replace(only, cohort=())
    with pytest.raises(InputError, match="ascending"):
        replace(only, cohort=(2, 1, 1))
