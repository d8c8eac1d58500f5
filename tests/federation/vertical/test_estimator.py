"""The estimator: two frames and labels in, a model out, on disk and back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone

from seepage._core import InputError
from seepage.data import clinic
from seepage.federation.vertical import TabVFLClassifier, dealt

SHORT = {"latent": 3, "pretraining": 1, "finetuning": 4, "batch_size": 64, "patience": 0}


def parties(rows: int = 300) -> tuple[dict[str, pl.DataFrame], np.ndarray]:
    frame = clinic(rows, np.random.default_rng(0))
    target = frame.columns[-1]
    first, second = dealt(frame.columns[:-1], 2)
    return {"bank": frame.select(first), "shop": frame.select(second)}, frame[target].to_numpy()


def test_fit_predict_transform_save_and_load(tmp_path: Path) -> None:
    tables, y = parties()
    model = TabVFLClassifier(**SHORT).fit(tables, y)
    probabilities = model.predict_proba(tables)
    assert probabilities.shape == (len(y), len(np.unique(y)))
    assert np.allclose(probabilities.sum(1), 1)
    assert set(model.predict(tables)) <= set(y)
    assert model.transform(tables).shape == (len(y), 3)
    model.save(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"bank", "shop", "host"}
    assert not list(tmp_path.rglob("*.pkl"))
    again = TabVFLClassifier.load(tmp_path)
    assert np.array_equal(again.predict_proba(tables), probabilities)
    assert again.get_params() == model.get_params()


def test_a_guests_folder_says_nothing_about_another_guest(tmp_path: Path) -> None:
    tables, y = parties()
    TabVFLClassifier(**SHORT).fit(tables, y).save(tmp_path)
    for name, table in tables.items():
        other = next(each for each in tables if each != name)
        text = (tmp_path / name / "schema.toml").read_text()
        assert all(f'"{column}"' in text for column in table.columns)
        assert not any(f'"{column}"' in text for column in tables[other].columns)


def test_an_absent_guest_at_prediction() -> None:
    tables, y = parties()
    model = TabVFLClassifier(**SHORT).fit(tables, y)
    without = model.predict_proba({"bank": tables["bank"]}, absent=["shop"])
    assert without.shape[0] == len(y)
    assert not np.array_equal(without, model.predict_proba(tables))
    with pytest.raises(InputError, match="no table of guest 'shop'"):
        model.predict({"bank": tables["bank"]})
    with pytest.raises(InputError, match="Did you mean 'shop'"):
        model.predict(tables, absent=["shopp"])


def test_it_is_a_scikit_learn_estimator() -> None:
    model = clone(TabVFLClassifier(**SHORT, design="central"))
    tables, y = parties(120)
    assert model.fit(list(tables.values()), y).score(list(tables.values()), y) > 0
    assert model.set_params(latent=7).latent == 7


def test_the_folder_continues_a_run(tmp_path: Path) -> None:
    tables, y = parties(120)
    first = TabVFLClassifier(**SHORT).fit(tables, y, folder=tmp_path)
    again = TabVFLClassifier(**SHORT).fit(tables, y, folder=tmp_path)
    assert [epoch.seconds for epoch in again.history_.epochs] == [epoch.seconds for epoch in first.history_.epochs]
    assert np.array_equal(first.predict_proba(tables), again.predict_proba(tables))
    with pytest.raises(InputError, match="other settings"):
        TabVFLClassifier(**SHORT, seed=1).fit(tables, y, folder=tmp_path)


def test_bad_input_is_one_sentence(tmp_path: Path) -> None:
    tables, y = parties(120)
    with pytest.raises(InputError, match="align the tables"):
        TabVFLClassifier(**SHORT).fit({"bank": tables["bank"], "shop": tables["shop"].head(5)}, y)
    with pytest.raises(InputError, match="'shop' has no columns"):
        TabVFLClassifier(**SHORT).fit({"bank": tables["bank"], "shop": pl.DataFrame({"id": range(120)})}, y)
    with pytest.raises(InputError, match="1 class"):
        TabVFLClassifier(**SHORT).fit(tables, np.zeros(120))
    with pytest.raises(InputError, match="no guest"):
        TabVFLClassifier(**SHORT).fit({}, y)
    with pytest.raises(InputError, match="no saved model"):
        TabVFLClassifier.load(tmp_path)
    with pytest.raises(InputError, match="cannot be dealt"):
        dealt(["a"], 2)
