"""The regressor: a number at the host, in its own units."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from seepage._core import InputError
from seepage.federation.vertical import TabVFLClassifier, TabVFLRegressor
from seepage.federation.vertical.labels import Standard
from seepage.federation.vertical.saved import read_party, write_party

SHORT: dict[str, Any] = {"latent": 6, "pretraining": 1, "finetuning": 3, "batch_size": 32, "patience": 0, "seed": 0}


def houses(rows: int = 200) -> tuple[dict[str, pl.DataFrame], np.ndarray]:
    generator = np.random.default_rng(0)
    size, age, rent = generator.normal(100, 20, rows), generator.normal(40, 9, rows), generator.normal(0, 1, rows)
    price = 300_000 + 2_000 * (size - 100) - 3_000 * (age - 40)
    return {"cadastre": pl.DataFrame({"size": size}), "builder": pl.DataFrame({"age": age, "rent": rent})}, price


def test_it_learns_and_answers_in_the_targets_units() -> None:
    tables, price = houses()
    model = TabVFLRegressor(**SHORT | {"finetuning": 20, "steps": 2}).fit(tables, price)
    predicted = model.predict(tables)
    assert predicted.shape == price.shape
    assert abs(predicted.mean() - price.mean()) < price.std()
    assert model.score(tables, price) > 0.5
    assert model.transform(tables).shape == (len(price), 6)


def test_other_units_give_the_same_model() -> None:
    tables, price = houses()
    euros = TabVFLRegressor(**SHORT).fit(tables, price).predict(tables)
    thousands = TabVFLRegressor(**SHORT).fit(tables, price / 1000 - 7).predict(tables)
    assert np.allclose((thousands + 7) * 1000, euros, atol=0.02 * price.std())


def test_weights_decide_what_the_middle_is() -> None:
    values, weights = np.array([0.0, 10.0]), np.array([1.0, 3.0])
    assert Standard.of(values, weights).mean == 7.5
    assert Standard.of(values, None) == Standard(mean=5.0, scale=5.0)
    assert Standard.of(np.full(3, 4.0), None) == Standard(mean=4.0, scale=1.0)


def test_save_and_load(tmp_path: Path) -> None:
    tables, price = houses(60)
    model = TabVFLRegressor(**SHORT).fit(tables, price)
    model.save(tmp_path)
    again = TabVFLRegressor.load(tmp_path)
    assert np.array_equal(again.predict(tables), model.predict(tables))
    assert again.get_params() == model.get_params() | {"seed": None}
    absent = again.predict({"builder": tables["builder"]}, absent=["cadastre"])
    assert not np.array_equal(absent, model.predict(tables))
    with pytest.raises(InputError, match=r"holds a regressor, not a classifier; use TabVFLRegressor\.load"):
        TabVFLClassifier.load(tmp_path)


def test_the_folder_continues_a_run_with_the_same_weights(tmp_path: Path) -> None:
    tables, price = houses(60)
    weights = np.linspace(1, 2, 60)
    first = TabVFLRegressor(**SHORT).fit(tables, price, sample_weight=weights, folder=tmp_path)
    again = TabVFLRegressor(**SHORT).fit(tables, price, sample_weight=weights, folder=tmp_path)
    assert [epoch.seconds for epoch in again.history_.epochs] == [epoch.seconds for epoch in first.history_.epochs]
    for others in (None, weights[::-1]):
        with pytest.raises(InputError, match="other settings"):
            TabVFLRegressor(**SHORT).fit(tables, price, sample_weight=others, folder=tmp_path)


def changed(folder: Path, **facts: Any) -> None:
    """The host's model.json with other facts; None takes one away."""
    files: dict[str, str | bytes] = {**read_party(folder)}
    known = json.loads(files["model.json"]) | facts
    kept = {name: value for name, value in known.items() if value is not None}
    write_party(folder, files | {"model.json": json.dumps(kept)})


def test_a_classifier_of_an_earlier_version_is_loaded(tmp_path: Path) -> None:
    tables, price = houses(60)
    model = TabVFLClassifier(**SHORT).fit(tables, price > 300_000)
    model.save(tmp_path)
    changed(tmp_path / "host", kind=None, features=None, names=None)
    again = TabVFLClassifier.load(tmp_path)
    assert np.array_equal(again.predict_proba(tables), model.predict_proba(tables))
    again.save(tmp_path / "again")
    assert np.array_equal(TabVFLClassifier.load(tmp_path / "again").predict(tables), model.predict(tables))


@pytest.mark.parametrize(
    ("facts", "sentence"),
    [
        ({"target": None}, "a regressor has target"),
        ({"kind": "classifier"}, "a classifier has classes"),
        ({"kind": "forecaster"}, "'classifier' or 'regressor'"),
        ({"target": {"mean": 0, "scale": 0}}, "greater than 0"),
        ({"names": ["size"]}, "1 names of 3 features"),
    ],
)
def test_a_model_that_does_not_fit_together_is_one_sentence(tmp_path: Path, facts: Any, sentence: str) -> None:
    tables, price = houses(60)
    TabVFLRegressor(**SHORT | {"finetuning": 1}).fit(tables, price).save(tmp_path)
    changed(tmp_path / "host", **facts)
    with pytest.raises(InputError, match=sentence):
        TabVFLRegressor.load(tmp_path)


def test_targets_that_are_no_numbers_are_one_sentence() -> None:
    tables, price = houses(60)
    with pytest.raises(InputError, match="for classes there is TabVFLClassifier"):
        TabVFLRegressor(**SHORT).fit(tables, ["cheap", "dear"] * 30)
    with pytest.raises(InputError, match="Unknown label type: continuous"):
        TabVFLClassifier(**SHORT).fit(tables, price)
    with pytest.raises(InputError, match="NaN"):
        TabVFLRegressor(**SHORT).fit(tables, np.where(price > 0, np.nan, price))
    with pytest.raises(InputError, match=r"60 number\(s\) beyond 1e\+30"):
        TabVFLRegressor(**SHORT).fit(tables, price * 1e200)
    with pytest.raises(InputError, match="the target y is None"):
        TabVFLRegressor(**SHORT).fit(tables, None)
