from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, confusion_matrix, mean_squared_error

from seepage._core import InputError, Streams
from seepage.results.property_score import calibration_error, property_score, share_score

DRAWN = Streams(0).numpy("classes")
TRUTH, GUESS = DRAWN.integers(0, 5, 200), DRAWN.integers(0, 5, 200)


def test_accuracy_distance_and_confusion_are_those_of_scikit_learn() -> None:
    score = property_score(TRUTH, GUESS, 5)
    assert score.accuracy.mean == pytest.approx(accuracy_score(TRUTH, GUESS))
    assert score.mse.mean == pytest.approx(mean_squared_error(TRUTH, GUESS))
    assert np.array_equal(score.confusion, confusion_matrix(TRUTH, GUESS))
    assert score.accuracy.low is not None
    assert score.accuracy.high is not None
    assert score.accuracy.low < score.accuracy.mean < score.accuracy.high
    assert score.accuracy.low < max(score.most_frequent, score.chance)


def test_a_guess_counts_more_the_further_it_is_off_also_for_unsigned_numbers() -> None:
    score = property_score(np.array([0, 1], np.uint8), np.array([2, 0], np.uint8), 3)
    assert score.mse.mean == (4 + 1) / 2


def test_blind_guesses_stand_beside_the_score() -> None:
    truth = np.array([0, 0, 0, 1, 2])
    score = property_score(truth, truth, 4)
    assert (score.accuracy.mean, score.most_frequent, score.chance) == (1.0, 0.6, 0.25)
    assert score.middle_mse == pytest.approx(min(np.square(truth - c).mean() for c in range(4)))


@given(seed=st.integers(0, 1000), classes=st.integers(2, 8), count=st.integers(1, 30))
def test_scores_stay_within_their_bounds(seed: int, classes: int, count: int) -> None:
    drawn = np.random.default_rng(seed)
    truth, guess = drawn.integers(0, classes, count), drawn.integers(0, classes, count)
    score = property_score(truth, guess, classes)
    assert score.confusion.sum() == count
    assert score.accuracy.mean == pytest.approx(np.trace(score.confusion) / count)
    assert 0 <= score.accuracy.mean <= 1
    assert score.chance <= score.most_frequent + 1e-12
    assert 0 <= score.mse.mean <= (classes - 1) ** 2


def test_calibration_is_zero_for_honest_chances_and_the_gap_for_boasting_ones() -> None:
    truth = np.array([0, 0, 0, 1] * 25)
    assert calibration_error(np.full(100, 0.75), truth == 0) == pytest.approx(0)
    assert calibration_error(np.ones(100), truth == 0) == pytest.approx(0.25)


def test_calibration_does_not_let_a_timid_bin_pay_for_a_boasting_one() -> None:
    sure, right = np.array([0.95, 0.95, 0.55, 0.55]), np.array([True, False, True, True])
    assert calibration_error(sure, right) == pytest.approx((2 * 0.45 + 2 * 0.45) / 4)


def test_coverage_counts_the_ends_and_the_width_is_the_mean() -> None:
    truth, estimate = np.array([0.1, 0.5, 0.9]), np.array([0.2, 0.5, 0.5])
    score = share_score(truth, estimate, np.array([0.1, 0.4, 0.4]), np.array([0.3, 0.6, 0.6]))
    assert score.coverage.mean == pytest.approx(2 / 3)
    assert score.width == pytest.approx(0.2)
    assert score.error.mean == pytest.approx((0.1 + 0 + 0.4) / 3)
    assert score.middle_error == pytest.approx(0.8 / 3)


def test_bad_input_is_one_sentence() -> None:
    whole, ends = np.array([0, 1]), np.array([0.1, 0.2])
    with pytest.raises(InputError, match="two lists of one length"):
        property_score(whole, whole[:1], 2)
    with pytest.raises(InputError, match="not empty"):
        property_score(whole[:0], whole[:0], 2)
    with pytest.raises(InputError, match="guessed classes must be whole numbers from 0 to 1"):
        property_score(whole, whole + 1, 2)
    with pytest.raises(InputError, match="true classes must be whole"):
        property_score(ends, ends, 2)
    with pytest.raises(InputError, match="at least 2"):
        property_score(whole, whole, 1)
    with pytest.raises(InputError, match="between 0 and 1"):
        calibration_error(np.array([1.6]), np.array([True]))
    with pytest.raises(InputError, match="shape"):
        calibration_error(np.array([0.5]), whole)
    with pytest.raises(InputError, match="end before they begin"):
        share_score(ends, ends, ends, ends - 0.1)
    with pytest.raises(InputError, match="lists of one length"):
        share_score(ends, ends[:1], ends, ends)
    with pytest.raises(InputError, match="not finite"):
        share_score(ends, ends * np.nan, ends, ends)
