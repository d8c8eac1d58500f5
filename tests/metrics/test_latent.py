from __future__ import annotations

import dataclasses
import itertools
import sys

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from seepage._core import InputError, Streams
from seepage.metrics import Quality, latent, latent_quality, mean_quality
from seepage.metrics.latent import _confidence, _honest, _published, _roc_auc

ALL_PREDICTORS = latent._predictors
ROWS = 300
GENERATOR = np.random.default_rng(5)
NOISE = GENERATOR.normal(size=(ROWS, 3))
BINARY = GENERATOR.integers(2, size=ROWS)
TRIPLE = GENERATOR.integers(3, size=ROWS)
TRAINED = GENERATOR.permutation(np.arange(ROWS) < 0.7 * ROWS)
PREDICTORS = ["logistic regression", "decision tree", "random forest", "MLP", "XGBoost", "linear SVM"]


def centres(y: np.ndarray) -> np.ndarray:
    """A latent in which the classes lie far apart, in no order along a line."""
    return NOISE / 10 + np.eye(3)[y] * 4


def test_a_latent_that_separates_the_classes_scores_one_with_every_predictor() -> None:
    names = np.array(["low", "middle", "high"])  # texts are classes too
    qualities = latent_quality(centres(TRIPLE), names[TRIPLE], TRAINED, Streams(0))
    assert [quality.predictor for quality in qualities] == PREDICTORS * 2
    assert [quality.variant for quality in qualities] == ["published"] * 6 + ["honest"] * 6
    for quality in qualities:
        # XGBoost's histograms cut at the outermost training row of a class, not midway, and lose a few rows there.
        least = 0.93 if quality.predictor == "XGBoost" else 0.97
        assert min(quality.accuracy, quality.f1) > least, quality
        assert quality.roc_auc > 0.97, quality
        assert (quality.train_rows, quality.test_rows) == (210, 90)


def test_a_random_latent_is_at_chance_and_a_seed_repeats() -> None:
    first = latent_quality(NOISE, BINARY, TRAINED, Streams(1))
    assert latent_quality(NOISE, BINARY, TRAINED, Streams(1)) == first
    assert all(0.3 < quality.roc_auc < 0.7 for quality in first)
    for variant in ("published", "honest"):
        assert mean_quality(first, variant)["roc_auc"] == pytest.approx(0.5, abs=0.1)
        assert mean_quality(first, variant)["accuracy"] == pytest.approx(0.5, abs=0.1)


def test_another_seed_cuts_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(latent, "_predictors", lambda *given: itertools.islice(ALL_PREDICTORS(*given), 2))
    first, other = (latent_quality(NOISE, BINARY, TRAINED, Streams(seed)) for seed in (1, 2))
    assert [one.accuracy for one in first] != [one.accuracy for one in other]


def test_memorised_rows_look_good_as_published_and_are_chance_when_honest() -> None:
    latent = np.where(TRAINED[:, None], centres(BINARY), NOISE)
    qualities = latent_quality(latent, BINARY, TRAINED, Streams(0))
    assert mean_quality(qualities, "published")["accuracy"] > 0.75
    assert mean_quality(qualities, "published")["roc_auc"] > 0.75
    assert mean_quality(qualities, "honest")["accuracy"] == pytest.approx(0.5, abs=0.12)
    assert mean_quality(qualities, "honest")["roc_auc"] == pytest.approx(0.5, abs=0.12)


@pytest.mark.parametrize(("unseen", "expected"), [(1, 1), (25, 25), (30, 30), (80, 30), (100, 30)])
def test_the_honest_test_rows_are_unseen_and_thirty_percent_at_most(unseen: int, expected: int) -> None:
    trained = np.arange(100) >= unseen
    train, test = _honest(trained, np.random.default_rng(0))
    assert not trained[test].any()
    assert len(test) == expected
    assert sorted([*train, *test]) == list(range(100))


def test_the_published_cut_takes_any_row() -> None:
    train, test = _published(100, np.random.default_rng(0))
    assert (len(train), len(test)) == (70, 30)
    assert sorted([*train, *test]) == list(range(100))
    assert test.max() > 70 > 30 > test.min()


def test_a_class_only_among_the_test_rows_counts_as_wrong() -> None:
    y = BINARY.copy()
    y[~TRAINED] = np.where(np.arange((~TRAINED).sum()) % 4 == 0, 2, y[~TRAINED])
    honest = [quality for quality in latent_quality(centres(y), y, TRAINED, Streams(0)) if quality.variant == "honest"]
    for quality in honest:
        assert quality.accuracy == pytest.approx(0.75, abs=0.03), quality
        assert 0.5 < quality.roc_auc <= 1


def test_a_class_of_one_row_and_a_test_of_one_class() -> None:
    y = np.zeros(ROWS, dtype=int)
    y[np.flatnonzero(TRAINED)[:30]] = 1  # every unseen row is of class 0
    y[np.flatnonzero(TRAINED)[-1]] = 2
    qualities = latent_quality(centres(y), y, TRAINED, Streams(0))
    assert np.isnan(mean_quality(qualities, "honest")["roc_auc"])
    assert mean_quality(qualities, "honest")["accuracy"] > 0.97
    assert mean_quality(qualities, "published")["roc_auc"] > 0.9


@pytest.mark.parametrize("y", [BINARY, TRIPLE])
def test_roc_auc_of_probabilities_is_that_of_scikit_learn(y: np.ndarray) -> None:
    model = LogisticRegression().fit(NOISE, y)
    probability = _confidence(model, NOISE)
    given = probability if probability.shape[1] > 2 else probability[:, 1]
    expected = roc_auc_score(y, given, multi_class="ovr", average="weighted")
    assert _roc_auc(probability, y, np.unique(y)) == pytest.approx(expected)


def test_mean_quality_averages_one_variant() -> None:
    one = Quality(variant="honest", predictor="a", accuracy=0.5, f1=0.2, roc_auc=0.4, train_rows=7, test_rows=3)
    two = dataclasses.replace(one, predictor="b", accuracy=1.0, f1=0.4, roc_auc=0.8)
    other = dataclasses.replace(one, variant="published", accuracy=0.0)
    assert mean_quality([one, other, two], "honest") == pytest.approx({"accuracy": 0.75, "f1": 0.3, "roc_auc": 0.6})
    with pytest.raises(InputError, match="no published quality"):
        mean_quality([one], "published")
    with pytest.raises(InputError, match="Did you mean 'honest'"):
        mean_quality([one], "honst")  # type: ignore[arg-type]


def spoiled(value: float) -> np.ndarray:
    latent = NOISE.copy()
    latent[3, 1] = value
    return latent


def holding(value: object) -> np.ndarray:
    y = BINARY.astype(object if value is None else float)
    y[3] = value
    return y


@pytest.mark.parametrize(
    ("latent", "y", "trained", "message"),
    [
        (spoiled(np.nan), BINARY, TRAINED, r"^1 row\(s\) of the latent are not finite"),
        (spoiled(np.inf), BINARY, TRAINED, "not finite"),
        (spoiled(1e300), BINARY, TRAINED, "not finite"),
        (NOISE[:, 0], BINARY, TRAINED, "rows of numbers"),
        (NOISE[:, :0], BINARY, TRAINED, "rows of numbers"),
        (NOISE.astype(str), BINARY, TRAINED, "rows of numbers"),
        (NOISE[:9], BINARY[:9], TRAINED[:9], "at least 10"),
        (NOISE, BINARY[1:], TRAINED, "one entry for each"),
        (NOISE, BINARY, TRAINED[1:], "one entry for each"),
        (NOISE, BINARY, TRAINED.astype(int), "give booleans"),
        (NOISE, BINARY, np.ones(ROWS, dtype=bool), "trained on every row"),
        (NOISE, np.zeros(ROWS), TRAINED, "one class"),
        (NOISE, TRAINED.astype(int), TRAINED, "training rows of the honest variant are of one class"),
        (NOISE, np.arange(ROWS), TRAINED, "300 classes"),
        (NOISE, NOISE[:, 0], TRAINED, "a class for every row"),
        (NOISE, holding(np.nan), TRAINED, "a class for every row"),
        (NOISE, holding(np.inf), TRAINED, "a class for every row"),
        (NOISE, holding(None), TRAINED, "a class for every row"),
    ],
)
def test_bad_input_is_refused(latent: np.ndarray, y: np.ndarray, trained: np.ndarray, message: str) -> None:
    with pytest.raises(InputError, match=message):
        latent_quality(latent, y, trained, Streams(0))


def test_without_xgboost_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xgboost", None)
    with pytest.raises(InputError, match=r"seepage\[vertical\]"):
        latent_quality(NOISE, BINARY, TRAINED, Streams(0))
