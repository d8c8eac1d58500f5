from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from seepage._core import InputError, Streams
from seepage.data import Encoder, Layout
from seepage.metrics import TOLERANCE, binary_found, columns_read, label_leak_auc
from tests import cases

TABLE = cases.table("binary")
ENCODER = Encoder(schema=TABLE.schema)
STATISTICS = ENCODER.statistics(TABLE)
ENCODED = ENCODER.encode(TABLE, STATISTICS)
LAYOUT = Layout(1, (3, 2))
CODES = np.array([0, 0, 1, 1, 2, 2, 2, 2])
FLAG = np.array([0, 1, 0, 1, 0, 1, 0, 1])
ENCODING = np.c_[np.linspace(-1, 1, 8), np.eye(3)[CODES], np.eye(2)[FLAG]]


def test_the_truth_is_read_in_every_column() -> None:
    score = columns_read(ENCODER, STATISTICS, ENCODED, TABLE)
    assert set(score.columns) == set(TABLE.schema.names)
    assert set(score.columns.values()) == {1.0}
    assert score.mean == 1.0
    assert 0 < score.baseline_mean < 1


def test_a_number_is_right_within_the_tolerance_and_a_category_if_it_is_equal() -> None:
    numeric, category = TABLE.schema.numeric[0], TABLE.schema.categorical[0]
    moved = ENCODED.copy()
    moved[:, 0] += np.linspace(0, 2 * TOLERANCE, len(TABLE))
    block = ENCODER.layout.blocks[0]
    moved[0, block] = np.roll(moved[0, block], 1)
    score = columns_read(ENCODER, STATISTICS, moved, TABLE)
    claimed, values = ENCODER.decode(moved, STATISTICS)[0][:, 0], TABLE.numbers[:, 0]
    near = np.abs(claimed - values) <= TOLERANCE * values.std()
    assert 0 < near.mean() < 1
    assert score.columns[numeric.name] == near.mean()
    assert score.columns[category.name] == 1 - 1 / len(TABLE)


def test_the_baseline_is_the_mean_and_the_most_frequent_category() -> None:
    score = columns_read(ENCODER, STATISTICS, ENCODED, TABLE)
    for place, column in enumerate(TABLE.schema.categorical):
        assert score.baseline[column.name] == np.bincount(TABLE.codes[:, place]).max() / len(TABLE)
    for place, column in enumerate(TABLE.schema.numeric):
        values = TABLE.numbers[:, place]
        assert score.baseline[column.name] == (np.abs(values - values.mean()) <= TOLERANCE * values.std()).mean()


def test_every_entry_is_found_up_to_its_complement() -> None:
    entries = np.concatenate([np.eye(3)[CODES].T, np.eye(2)[FLAG].T]).astype(np.uint8)
    for found in (entries[:4], 1 - entries[:4]):
        scores = binary_found(found, ENCODING, LAYOUT)
        assert scores["entries"] == 5
        assert scores["entries_found"] == scores["entries_near"] == scores["entries_implied"] == 1.0
        assert scores["found"] == 4
        assert scores["one_column"] == scores["one_column_near"] == 1.0


def test_unions_within_a_column_are_functions_of_it_and_others_are_not() -> None:
    union, mixture = (CODES < 2).astype(np.uint8), ((CODES == 0) & (FLAG == 1)).astype(np.uint8)
    scores = binary_found(np.array([union, mixture]), ENCODING, LAYOUT)
    assert scores["one_column"] == 0.5
    assert scores["entries_found"] == 0.2  # the union is the complement of the third category


def test_the_last_category_is_implied_by_the_others() -> None:
    scores = binary_found(np.array([CODES == 0, CODES == 1]), ENCODING, LAYOUT)
    assert scores["entries_found"] == pytest.approx(2 / 5)
    assert scores["entries_implied"] == pytest.approx(3 / 5)


def test_a_standardised_encoding_and_a_number_of_two_values_count_too() -> None:
    moved = ENCODING * 3 - 1
    moved[:, 0] = np.where(CODES == 0, 5.0, -2.0)
    scores = binary_found(np.array([CODES == 0]), moved, LAYOUT)
    assert scores["entries"] == 7  # the number of two values, as two entries
    assert scores["entries_found"] == pytest.approx(3 / 7)


def test_entries_that_do_not_vary_are_none_and_nothing_found_is_a_score() -> None:
    scores = binary_found(np.zeros((0, 3)), ENCODING[4:7], LAYOUT)
    assert scores["entries"] == 2  # the flag; all have the third category
    assert scores["entries_found"] == scores["found"] == 0
    assert np.isnan(scores["one_column"])


@given(st.integers(0, 10**6))
def test_the_leak_is_the_area_under_the_curve(seed: int) -> None:
    generator = Streams(seed).numpy("scores")
    score, y = generator.integers(0, 5, 30).astype(float), generator.integers(0, 2, 30)
    y[:2] = 0, 1
    rarer = y if 2 * y.sum() <= 30 else 1 - y
    scores = label_leak_auc(score, y)
    assert scores["auc"] == pytest.approx(roc_auc_score(rarer, score))
    assert scores["auc_either"] == max(scores["auc"], 1 - scores["auc"])


def test_bad_input_is_one_sentence() -> None:
    with pytest.raises(InputError, match="have the shape"):
        columns_read(ENCODER, STATISTICS, ENCODED[:, 1:], TABLE)
    with pytest.raises(InputError, match="not finite"):
        columns_read(ENCODER, STATISTICS, ENCODED * np.nan, TABLE)
    with pytest.raises(InputError, match="no true rows"):
        columns_read(ENCODER, STATISTICS, ENCODED[:0], TABLE.take(np.arange(0)))
    with pytest.raises(InputError, match="layout has 6 columns"):
        binary_found(np.zeros((1, 8)), ENCODING[:, 1:], LAYOUT)
    with pytest.raises(InputError, match="8 true rows"):
        binary_found(np.zeros((1, 7)), ENCODING, LAYOUT)
    with pytest.raises(InputError, match="zeros and ones"):
        binary_found(np.full((1, 8), 2), ENCODING, LAYOUT)
    with pytest.raises(InputError, match="two lists of one length"):
        label_leak_auc(np.zeros(3), np.zeros(2))
    with pytest.raises(InputError, match="not finite"):
        label_leak_auc(np.full(2, np.nan), np.array([0, 1]))
    with pytest.raises(InputError, match="binary tasks"):
        label_leak_auc(np.zeros(3), np.arange(3))
    with pytest.raises(InputError, match="one class"):
        label_leak_auc(np.zeros(3), np.zeros(3))
