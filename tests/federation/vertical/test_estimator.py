"""The estimator: two frames and labels in, a model out, on disk and back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score

from seepage._core import InputError
from seepage.data import clinic
from seepage.federation.vertical import TabVFLClassifier, dealt

SHORT = {"latent": 3, "pretraining": 1, "finetuning": 4, "batch_size": 64, "patience": 0, "seed": 0}


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
    assert again.get_params() == model.get_params() | {"seed": None}


def test_nobodys_first_weights_can_be_drawn_from_the_hosts_folder(tmp_path: Path) -> None:
    """The old attack: take the seed that lies at the host, draw everybody's first weights again, and solve for columns.

    After one step at a rate of almost nothing a guest's weights are its first ones, so it sends its columns times them.
    """
    tables, y = parties()
    barely = SHORT | {"pretraining": 0, "finetuning": 1, "rate": 1e-9, "seed": None}
    model = TabVFLClassifier(**barely).fit(tables, y)
    model.save(tmp_path)
    files = [file for file in (tmp_path / "host").iterdir() if file.suffix == ".json"]
    assert not any("seed" in file.read_text() for file in files)
    known = json.loads((tmp_path / "host" / "model.json").read_text())["parameters"]
    for guessed in (None, 0, 1):
        again = TabVFLClassifier(**{**known, "seed": guessed}).fit(tables, y)
        for ours, theirs in zip(model.federation_.guests, again.federation_.guests, strict=True):
            mine, other = (each.learning.modules["bottom"].bottom.mix.weight for each in (ours, theirs))
            assert abs(np.corrcoef(mine.detach().numpy().ravel(), other.detach().numpy().ravel())[0, 1]) < 0.3


def test_parties_draw_apart_even_from_one_seed() -> None:
    frame = parties()[0]["bank"]
    model = TabVFLClassifier(**SHORT | {"pretraining": 0, "finetuning": 1, "rate": 1e-9})
    model.fit({"bank": frame, "shop": frame}, parties()[1])
    one, two = (guest.learning.modules["bottom"].bottom.mix.weight for guest in model.federation_.guests)
    assert not torch.allclose(one, two, atol=1e-3)


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


def in_pandas(frame: pl.DataFrame) -> Any:
    return pytest.importorskip("pandas").DataFrame(frame.to_dict(as_series=False))


def one_frame(rows: int = 150) -> tuple[pl.DataFrame, dict[str, list[str]], np.ndarray]:
    tables, y = parties(rows)
    whole = pl.concat(list(tables.values()), how="horizontal")
    return whole, {name: table.columns for name, table in tables.items()}, y


@pytest.mark.parametrize("kind", ["polars", "pandas"])
def test_one_frame_with_named_columns_is_the_frames_by_name(kind: str, tmp_path: Path) -> None:
    tables, y = parties(150)
    whole, columns, _ = one_frame()
    given = whole if kind == "polars" else in_pandas(whole)
    model = TabVFLClassifier(**SHORT, parties=columns).fit(given, y)
    apart = TabVFLClassifier(**SHORT).fit(tables, y)
    assert np.array_equal(model.predict_proba(given), apart.predict_proba(tables))
    without = model.predict_proba(whole.select(columns["bank"]), absent=["shop"])
    assert np.array_equal(without, apart.predict_proba({"bank": tables["bank"]}, absent=["shop"]))
    model.save(tmp_path)
    assert np.array_equal(TabVFLClassifier.load(tmp_path).predict(given), model.predict(given))


def test_it_can_be_validated_and_searched() -> None:
    whole, columns, y = one_frame()
    model = TabVFLClassifier(**SHORT | {"finetuning": 2, "pretraining": 0}, parties=columns)
    assert cross_val_score(model, in_pandas(whole), y, cv=2, error_score="raise").shape == (2,)
    search = GridSearchCV(model, {"latent": [2, 3]}, cv=2, error_score="raise").fit(whole, y)
    assert search.best_params_["latent"] in (2, 3)
    assert set(search.predict(whole)) <= set(y)


def test_more_people_than_were_trained_on_can_be_predicted() -> None:
    whole, columns, y = one_frame()
    model = TabVFLClassifier(**SHORT, parties=columns, failure_probability=0.3).fit(whole.head(100), y[:100])
    assert len(model.predict(whole)) == len(y)


def test_before_fit_it_says_so(tmp_path: Path) -> None:
    tables, _ = parties(120)
    for asked in (TabVFLClassifier().predict, TabVFLClassifier().predict_proba, TabVFLClassifier().transform):
        with pytest.raises(NotFittedError):
            asked(tables)
    with pytest.raises(NotFittedError):
        TabVFLClassifier().save(tmp_path)


def test_other_people_in_the_same_row_are_refused() -> None:
    tables, y = parties(120)
    bank, shop = (in_pandas(table) for table in tables.values())
    mixed = shop.sample(frac=1, random_state=0)
    with pytest.raises(InputError, match="index of guest 'shop' differs from that of guest 'bank'"):
        TabVFLClassifier(**SHORT).fit({"bank": bank, "shop": mixed}, y)
    labels = pytest.importorskip("pandas").Series(y, index=mixed.index)
    with pytest.raises(InputError, match="index of the labels differs"):
        TabVFLClassifier(**SHORT).fit({"bank": bank, "shop": shop}, labels)
    model = TabVFLClassifier(**SHORT).fit({"bank": bank, "shop": shop}, bank.assign(died=y)["died"])
    with pytest.raises(InputError, match="index of guest 2 differs"):
        model.predict([bank, mixed])


def test_columns_have_one_owner_that_is_there() -> None:
    whole, columns, y = one_frame(120)
    with pytest.raises(InputError, match="say whose columns are whose"):
        TabVFLClassifier(**SHORT).fit(whole, y)
    with pytest.raises(InputError, match="has one owner"):
        TabVFLClassifier(**SHORT, parties=columns | {"third": columns["bank"]}).fit(whole, y)
    with pytest.raises(InputError, match="column"):
        TabVFLClassifier(**SHORT, parties={"bank": ["nothing"]}).fit(whole, y)
    with pytest.raises(InputError, match="no names of columns"):
        TabVFLClassifier(**SHORT, parties=columns).fit(np.zeros((120, 4)), y)


def test_the_folder_continues_a_run(tmp_path: Path) -> None:
    tables, y = parties(120)
    first = TabVFLClassifier(**SHORT).fit(tables, y, folder=tmp_path)
    again = TabVFLClassifier(**SHORT).fit(tables, y, folder=tmp_path)
    assert [epoch.seconds for epoch in again.history_.epochs] == [epoch.seconds for epoch in first.history_.epochs]
    assert np.array_equal(first.predict_proba(tables), again.predict_proba(tables))
    with pytest.raises(InputError, match="other settings"):
        TabVFLClassifier(**SHORT | {"seed": 1}).fit(tables, y, folder=tmp_path)
    with pytest.raises(InputError, match="give it a seed"):
        TabVFLClassifier(**SHORT | {"seed": None}).fit(tables, y, folder=tmp_path / "other")


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
