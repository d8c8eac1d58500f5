from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from seepage._core import Outcome, Streams
from seepage.metrics.trust import doubt_measures
from seepage.observation import Claim, Knowledge
from seepage.results import ALL_COLUMNS, ATTACK, BUCKETS, PRIOR, Measure
from tests.metrics.test_metrics import ENCODER, EVALUATOR, STATISTICS, TABLE, truth

NUMERIC = 2
DOUBTS = hnp.arrays(np.float64, (3, 4), elements=st.floats(0, 1) | st.just(np.nan)).map(
    lambda cells: cells * [9, -9, 1, 1]
)
RIGHT = hnp.arrays(np.bool_, (3, 4))


@given(DOUBTS, RIGHT, RIGHT)
def test_buckets_hold_every_cell_once(doubt: np.ndarray, right: np.ndarray, guessed: np.ndarray) -> None:
    values = doubt_measures(doubt, right, guessed, NUMERIC)
    parts = {"numeric": slice(0, NUMERIC), "categorical": slice(NUMERIC, None)}
    for kind, columns in parts.items():
        known = ~np.isnan(doubt[:, columns])
        found = [bucket for bucket in BUCKETS[kind] if Measure(ATTACK, bucket.scope, bucket.cells) in values]
        cells = [values[Measure(ATTACK, bucket.scope, bucket.cells)] for bucket in found]
        assert sum(cells) == known.sum()
        assert all(count > 0 for count in cells)  # an empty bucket is absent, not zero
        for source, good in ((ATTACK, right), (PRIOR, guessed)):
            shares = [values[Measure(source, bucket.scope, bucket.accuracy)] for bucket in found]
            assert np.dot(shares, cells) == pytest.approx(good[:, columns][known].sum())


def test_a_cell_lies_in_its_bucket_and_edges_belong_to_the_upper_one() -> None:
    doubt = np.array([[-5.0, 0.72, 0.2, 1.0]])
    right = np.array([[True, False, True, False]])
    values = doubt_measures(doubt, right, ~right, NUMERIC)
    shares = {(key.source, key.scope): value for key, value in values.items() if key.metric.startswith("accuracy")}
    assert shares == {
        (ATTACK, "doubt=-inf:-2"): 1.0, (ATTACK, "doubt=0.72:1.16"): 0.0,
        (PRIOR, "doubt=-inf:-2"): 0.0, (PRIOR, "doubt=0.72:1.16"): 1.0,
        (ATTACK, "doubt=0.2:0.4"): 1.0, (ATTACK, "doubt=0.8:1"): 0.0,
        (PRIOR, "doubt=0.2:0.4"): 0.0, (PRIOR, "doubt=0.8:1"): 1.0,
    }  # fmt: skip
    assert values[Measure(ATTACK, ALL_COLUMNS, "doubt_cat")] == pytest.approx(0.6)
    assert values[Measure(ATTACK, ALL_COLUMNS, "doubt_num")] == pytest.approx((0.72 - 5) / 2)


def test_an_attacker_who_cannot_tell_is_in_no_bucket() -> None:
    nothing = np.zeros((2, 3), dtype=bool)
    assert doubt_measures(np.full((2, 3), np.nan), nothing, nothing, 1) == {}


def test_doubt_follows_its_row_through_the_matching() -> None:
    """The claimed rows stand in another order than the true ones; a cell keeps its doubt."""
    true = truth(6)
    rows = ENCODER.encode(true.rows, STATISTICS)[::-1].copy()
    numeric, columns = len(TABLE.schema.numeric), len(TABLE.schema.columns)
    doubt = np.full((6, columns), 0.1)
    rows[0, :numeric] += 50  # wrong, and doubted
    doubt[0, :numeric] = 1.9
    claim = Claim(outcome=Outcome.OK, rows=rows, doubt=doubt)
    values = EVALUATOR(claim, true, Knowledge(), Streams(0).numpy("b"))
    assert values[Measure(ATTACK, "doubt=1.6:2.04", "accuracy_num")] == 0
    assert values[Measure(ATTACK, "doubt=1.6:2.04", "cells_num")] == numeric
    assert values[Measure(ATTACK, "doubt=0:0.72", "accuracy_num")] == 1
    assert values[Measure(ATTACK, "doubt=0:0.2", "accuracy_cat")] == 1
    assert values[Measure(PRIOR, "doubt=0:0.2", "accuracy_cat")] == values[Measure(PRIOR, ALL_COLUMNS, "accuracy_cat")]
    without = EVALUATOR(dataclasses.replace(claim, doubt=None), true, Knowledge(), Streams(0).numpy("b"))
    assert without.items() <= values.items()  # doubt adds numbers and changes none
