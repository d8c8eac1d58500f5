"""The synthetic admissions table is what it says: deterministic, mixed, sparse, imbalanced and learnable."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score

from seepage._core import InputError
from seepage.data import Encoder, Table, clinic, infer_schema
from seepage.data.clinic_table import HISTORY


def test_the_same_seed_gives_the_same_table() -> None:
    assert clinic(300, seed=4).equals(clinic(300, seed=4))
    assert not clinic(300, seed=4).equals(clinic(300, seed=5))


@pytest.mark.parametrize("seed", range(5))
def test_two_to_three_percent_die(seed: int) -> None:
    for rows in (1000, 5000):
        assert 0.02 <= clinic(rows, seed)["died"].mean() <= 0.03  # type: ignore[operator]


def test_columns_are_mixed_sparse_and_partly_empty() -> None:
    frame = clinic()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        schema = infer_schema(frame, "died")
    assert frame.shape == (5000, 28)
    assert (len(schema.numeric), len(schema.categorical)) == (9, 18)
    shares = [frame[name].mean() for name in HISTORY]
    assert all(0.003 < share < 0.17 for share in shares)  # type: ignore[operator]
    assert min(frame["language"].value_counts()["count"]) < 0.005 * 5000
    assert frame["lactate"].null_count() > 1000
    assert frame["creatinine"].drop_nulls().skew() > 1  # type: ignore[operator]


def test_a_linear_model_learns_the_rule() -> None:
    frame = clinic()
    table = Table.from_frame(frame, infer_schema(frame, "died"))
    encoder = Encoder(schema=table.schema)
    inputs = encoder.encode(table, encoder.statistics(table))
    model = LogisticRegression(C=0.1, max_iter=500)
    scores = cross_val_score(model, inputs, table.target, cv=5, scoring="roc_auc")
    assert np.mean(scores) >= 0.75


def test_too_few_rows_are_refused() -> None:
    with pytest.raises(InputError, match="at least 100"):
        clinic(10)
