"""What scikit-learn's tools and users ask of an estimator, of both estimators."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from seepage._core import InputError
from seepage.federation.vertical import Phase, TabVFLClassifier, TabVFLRegressor
from seepage.federation.vertical.estimator_checks import EXPECTED_FAILED_CHECKS
from seepage.federation.vertical.objective import CrossEntropy, Objective, SquaredError

Estimator = type[TabVFLClassifier] | type[TabVFLRegressor]
BOTH = pytest.mark.parametrize("estimator", [TabVFLClassifier, TabVFLRegressor])
SHORT: dict[str, Any] = {"latent": 3, "pretraining": 0, "finetuning": 2, "batch_size": 32, "patience": 0, "seed": 0}
OWNERS = {"bank": ["age", "income"], "shop": ["visits", "town"]}
UNTRAINED = dict.fromkeys(
    ("check_classifiers_train", "check_regressors_train"), "One epoch teaches nothing; the slow test trains."
)


def people(rows: int = 90) -> tuple[pl.DataFrame, np.ndarray]:
    generator = np.random.default_rng(0)
    frame = pl.DataFrame(
        {
            "age": generator.normal(50, 9, rows),
            "income": generator.normal(3000, 500, rows),
            "visits": generator.integers(0, 30, rows),
            "town": generator.choice(["Delft", "Gouda", "Leiden"], rows),
        }
    )
    return frame, np.where(frame["age"].to_numpy() > 50, 1, 0)


def in_pandas(frame: pl.DataFrame) -> Any:
    return pytest.importorskip("pandas").DataFrame(frame.to_dict(as_series=False))


@BOTH
def test_scikit_learns_own_checks(estimator: Estimator) -> None:
    model = estimator(**SHORT | {"finetuning": 1}, steps=1, parties=2)
    check_estimator(model, expected_failed_checks=EXPECTED_FAILED_CHECKS | UNTRAINED, on_skip=None)


@pytest.mark.slow
@BOTH
def test_scikit_learns_own_checks_with_training(estimator: Estimator) -> None:
    model = estimator(**SHORT | {"finetuning": 60, "latent": 8}, parties=2)
    check_estimator(model, expected_failed_checks=EXPECTED_FAILED_CHECKS, on_skip=None)


@BOTH
def test_a_row_is_predicted_alike_alone_and_among_others(estimator: Estimator) -> None:
    """What the checks that are excepted ask for, as exactly as float32 can."""
    frame, y = people()
    model = estimator(**SHORT, parties=OWNERS).fit(frame, y)
    order = np.random.default_rng(1).permutation(len(y))
    together = model.transform(frame)
    assert np.allclose(model.transform(frame[order]), together[order], atol=1e-4)
    assert np.allclose(model.transform(frame[7:9]), together[7:9], atol=1e-4)


@BOTH
def test_it_can_be_cloned_validated_searched_and_put_into_a_pipeline(estimator: Estimator) -> None:
    frame, y = people()
    model = clone(estimator(**SHORT, parties=OWNERS))
    assert cross_val_score(model, in_pandas(frame), y, cv=2, error_score="raise").shape == (2,)
    numbers = ColumnTransformer(
        [("scaled", StandardScaler(), ["age", "income"])], remainder="passthrough", verbose_feature_names_out=False
    ).set_output(transform="polars")
    pipeline = Pipeline([("numbers", numbers), ("model", model)])
    search = GridSearchCV(pipeline, {"model__latent": [2, 3]}, cv=2, error_score="raise")
    search.fit(frame, y, model__sample_weight=np.arange(len(y)))
    assert search.best_params_["model__latent"] in (2, 3)
    assert search.predict(frame).shape == y.shape


def test_latents_are_features_for_another_model() -> None:
    frame, y = people()
    model = TabVFLClassifier(**SHORT, parties=OWNERS).fit(frame, y)
    assert model.get_feature_names_out().tolist() == [f"tabvflclassifier{place}" for place in range(3)]
    assert model.set_output(transform="polars").transform(frame).columns == model.get_feature_names_out().tolist()
    both = make_pipeline(clone(model), StandardScaler()).fit_transform(frame, y)
    assert np.allclose(both.mean(0), 0, atol=1e-5)


@BOTH
def test_columns_by_name_may_stand_in_any_order_beside_others(estimator: Estimator) -> None:
    frame, y = people()
    model = estimator(**SHORT, parties=OWNERS).fit(frame.with_columns(label=pl.Series(y)), y)
    assert model.feature_names_in_.tolist() == frame.columns
    assert model.n_features_in_ == 4
    turned = frame.select(reversed(frame.columns)).with_columns(other=pl.lit("x"))
    assert np.array_equal(model.predict(turned), model.predict(frame))
    with pytest.raises(InputError, match="no names of columns"):
        model.predict(frame.to_numpy())
    with pytest.raises(InputError, match="Unknown column 'town'"):
        model.predict(frame.drop("town"))


def test_columns_of_frames_by_name_are_called_after_their_owners() -> None:
    frame, y = people()
    tables = {name: frame.select(own) for name, own in OWNERS.items()}
    model = TabVFLClassifier(**SHORT).fit(tables.values(), y)
    assert model.feature_names_in_[0] == "guest1.age"
    model = TabVFLClassifier(**SHORT).fit(tables, y)
    assert model.feature_names_in_.tolist() == ["bank.age", "bank.income", "shop.visits", "shop.town"]
    assert model.n_features_in_ == 4


@pytest.mark.parametrize(
    "parties", [2, {"guest1": [0, 1], "guest2": range(2, 4)}, {"guest1": (0, 1), "guest2": [2, 3]}]
)
def test_columns_of_an_array_go_by_position(parties: Any, tmp_path: Any) -> None:
    frame, y = people()
    array = frame.to_numpy()
    model = TabVFLClassifier(**SHORT, parties=parties).fit(array, y)
    owners = {"guest1": ["age", "income"], "guest2": ["visits", "town"]}
    named = TabVFLClassifier(**SHORT, parties=owners).fit(frame, y)
    assert np.array_equal(model.predict_proba(array), named.predict_proba(frame))
    assert np.array_equal(model.predict_proba(array.tolist()), named.predict_proba(frame))
    assert not hasattr(model, "feature_names_in_")
    absent = model.predict_proba(array, absent=["guest2"])
    assert np.array_equal(absent, named.predict_proba(frame, absent=["guest2"]))
    model.save(tmp_path)
    again = TabVFLClassifier.load(tmp_path)
    assert np.array_equal(again.predict_proba(array), model.predict_proba(array))
    with pytest.raises(InputError, match="X has 3 features"):
        again.predict(array[:, :3])


def test_columns_of_a_frame_by_position_must_be_those_of_the_training(tmp_path: Any) -> None:
    frame, y = people()
    model = TabVFLClassifier(**SHORT, parties=2).fit(frame, y)
    model.save(tmp_path)
    for each in (model, TabVFLClassifier.load(tmp_path)):
        assert each.feature_names_in_.tolist() == frame.columns
        assert each.predict(frame).shape == y.shape
        with pytest.raises(InputError, match="same order as they were in fit"):
            each.predict(frame.select(reversed(frame.columns)))
        with pytest.warns(UserWarning, match="does not have valid feature names"):
            assert np.array_equal(each.predict(frame.to_numpy()), each.predict(frame))


def test_an_empty_cell_of_an_array_is_nan_or_none() -> None:
    frame, y = people()
    holed = frame.with_columns(pl.when(pl.int_range(pl.len()) % 5 == 0).then(None).otherwise(pl.all()).name.keep())
    model = TabVFLClassifier(**SHORT, parties=2).fit(holed.to_numpy(), y)
    named = TabVFLClassifier(**SHORT, parties=2).fit(holed, y)
    assert np.array_equal(model.predict_proba(holed.to_numpy()), named.predict_proba(holed))
    pandas = pytest.importorskip("pandas")
    marked = np.array([[pandas.NA if cell is None else cell for cell in row] for row in holed.rows()], dtype=object)
    assert np.array_equal(model.predict_proba(marked), named.predict_proba(holed))
    numbers = holed.drop("town").cast(pl.Float64)
    assert np.isnan(numbers.to_numpy()).any()
    assert TabVFLClassifier(**SHORT, parties=2).fit(numbers.to_numpy(), y).predict(numbers.to_numpy()).shape == y.shape


@pytest.mark.parametrize("tables", [5, "patients.csv", [1, 2, 3], np.zeros((90, 2, 2)), [[1, 2], [3]]], ids=str)
def test_what_is_no_table_is_refused(tables: Any) -> None:
    _, y = people()
    with pytest.raises(InputError):
        TabVFLClassifier(**SHORT, parties=1).fit(tables, y)


BAD_PARTIES: dict[str, tuple[Any, str]] = {
    "none": (None, "say whose columns are whose"),
    "too many": (5, r"4 feature\(s\) cannot be dealt to 5 guests"),
    "nobody": (0, "cannot be dealt to 0 guests"),
    "no number": (True, "number of guests"),
    "outside": ({"bank": [0, 9]}, "no column at position 9; the table has 0 to 3"),
    "between": ({"bank": [0.5]}, "no column at position 0.5"),
    "twice": ({"bank": [0, 1], "shop": [1]}, "has one owner"),
    "both ways": ({"bank": ["age"], "shop": [1]}, "names and some are positions"),
    "text": ({"bank": "age"}, "give a list of names"),
    "empty": ({"bank": [], "shop": ["age"]}, "'bank' has no columns"),
    "the host": ({"host": ["age"]}, "No party can be called 'host'"),
}


@pytest.mark.parametrize(("parties", "sentence"), BAD_PARTIES.values(), ids=BAD_PARTIES.keys())
def test_parties_that_cannot_be_are_one_sentence(parties: Any, sentence: str) -> None:
    frame, y = people()
    with pytest.raises(InputError, match=sentence) as caught:
        TabVFLClassifier(**SHORT, parties=parties).fit(frame, y)
    assert isinstance(caught.value, ValueError)  # as scikit-learn's users expect


@BOTH
def test_rows_of_other_people_are_refused(estimator: Estimator) -> None:
    frame, y = people()
    table, series = in_pandas(frame), pytest.importorskip("pandas").Series
    mixed = table.sample(frac=1, random_state=0)
    model = estimator(**SHORT, parties=OWNERS)
    with pytest.raises(InputError, match="index of the labels differs from that of the table"):
        model.fit(mixed, series(y))
    with pytest.raises(InputError, match="index of the weights differs from that of the table"):
        model.fit(mixed, y, sample_weight=series(np.ones(len(y))))
    fitted = model.fit(mixed, series(y)[mixed.index], sample_weight=series(np.ones(len(y)))[mixed.index])
    assert len(fitted.predict(table)) == len(y)


@BOTH
@pytest.mark.parametrize("method", ["predict", "transform", "score", "get_feature_names_out"])
def test_before_fit_it_says_so(estimator: Estimator, method: str) -> None:
    frame, y = people()
    given = {"predict": (frame,), "transform": (frame,), "score": (frame, y), "get_feature_names_out": ()}[method]
    with pytest.raises(NotFittedError):
        getattr(estimator(parties=OWNERS), method)(*given)


BAD_WEIGHTS: dict[str, tuple[Callable[[np.ndarray], Any], str]] = {
    "short": (lambda y: np.ones(len(y) - 1), "shape"),
    "two columns": (lambda y: np.ones((len(y), 2)), "shape"),
    "negative": (lambda y: np.where(np.arange(len(y)) == 3, -1.0, 1.0), "1 negative weight"),
    "zero": (lambda y: np.zeros(len(y)), "Every sample_weight is zero"),
    "not finite": (lambda y: np.full(len(y), np.inf), "infinity"),
    "text": (lambda y: ["heavy"] * len(y), "heavy"),
    "one class": (lambda y: y, "only one class"),
    "one row": (lambda y: np.eye(len(y))[0], "only one class"),
}


@pytest.mark.parametrize(("weights", "sentence"), BAD_WEIGHTS.values(), ids=BAD_WEIGHTS.keys())
def test_weights_that_cannot_be_are_one_sentence(weights: Callable[[np.ndarray], Any], sentence: str) -> None:
    frame, y = people()
    with pytest.raises(InputError, match=sentence):
        TabVFLClassifier(**SHORT, parties=OWNERS).fit(frame, y, sample_weight=weights(y))


@BOTH
def test_labels_of_rows_without_weight_are_not_learned(estimator: Estimator) -> None:
    frame, y = people()
    weights = np.where(np.arange(len(y)) % 3 == 0, 0.0, 2.0)
    one, other = y.copy(), y.copy()
    one[::3], other[::3] = 0, 1
    models = [estimator(**SHORT, parties=OWNERS).fit(frame, each, sample_weight=weights) for each in (one, other)]
    assert np.array_equal(models[0].predict(frame), models[1].predict(frame))


def test_weights_move_predictions_and_stay_at_the_host() -> None:
    frame, y = people()
    settings = SHORT | {"finetuning": 8, "pretraining": 1, "steps": 2}
    generator = np.random.default_rng(3)
    noise = generator.integers(0, 2, len(y))  # nothing to learn but how often each class is
    plain = TabVFLClassifier(**settings, parties=OWNERS).fit(frame, noise)
    heavy = TabVFLClassifier(**settings, parties=OWNERS).fit(frame, noise, sample_weight=np.where(noise == 1, 50, 1))
    assert heavy.predict_proba(frame)[:, 1].mean() > plain.predict_proba(frame)[:, 1].mean() + 0.1
    for phase in Phase:  # no message more, none longer, and pretraining has the same losses
        assert heavy.traffic_.training_bytes(phase) == plain.traffic_.training_bytes(phase)
    losses = [[epoch.loss for epoch in model.history_.of(Phase.PRETRAINING)] for model in (plain, heavy)]
    assert losses[0] == losses[1]


@pytest.mark.parametrize("kind", [CrossEntropy, SquaredError])
def test_a_heavy_row_counts_as_often_as_it_weighs(kind: Callable[..., Objective]) -> None:
    outputs, rows = torch.randn(4, 3, generator=torch.Generator().manual_seed(0)), torch.tensor([5, 0, 2, 3])
    labels = torch.tensor([0, 2, 1, 1]).to(torch.long if kind is CrossEntropy else torch.float32)
    weights = torch.tensor([2.0, 9.0, 0.0, 1.0, 9.0, 1.0])  # 1, 2, 0, 1 of these rows
    twice = torch.tensor([0, 1, 1, 3])
    found = kind(weights=weights).loss(outputs, labels, rows)
    assert torch.allclose(found, kind().loss(outputs[twice], labels[twice], rows[twice]))


@BOTH
def test_a_pickle_predicts_alike_and_holds_nobodys_rows(estimator: Estimator) -> None:
    frame, y = people()
    model = estimator(**SHORT, parties=OWNERS).fit(frame, y)
    content = pickle.dumps(model)
    again = pickle.loads(content)
    assert again.get_params() == model.get_params()
    assert np.array_equal(model.predict(frame), again.predict(frame))
    for guest, columns in zip(model.federation_.guests, model.columns_, strict=True):
        rows = columns.encode(frame.select(OWNERS[guest.name])).numpy()
        assert rows[:20].tobytes() in pickle.dumps(model.federation_)  # they are there to be found
        assert rows[:20].tobytes() not in content
