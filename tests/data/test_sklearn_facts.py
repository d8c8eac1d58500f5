"""A fitted scikit-learn preprocessor as facts: they encode as it does, and what they lose is said."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)

from seepage._core import InputError
from seepage.data import Encoder
from seepage.data.arrangement import arrangement_of
from seepage.data.preprocessing import Preprocessing
from seepage.data.request import Request
from seepage.data.sklearn_facts import from_sklearn
from seepage.data.source import Source, open_source

pd = pytest.importorskip("pandas")
NUMBERS, WORDS = ["age", "income"], ["colour", "smoker"]


def table(rows: int = 300) -> Any:
    random = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "age": random.integers(18, 90, rows),
            "income": np.where(random.random(rows) < 0.1, np.nan, random.lognormal(10, 1, rows)),
            "colour": random.choice(["red", "green", "blue", "mauve", "teal"], rows, p=[0.5, 0.3, 0.15, 0.03, 0.02]),
            "smoker": random.choice(["yes", "no"], rows),
            "died": random.integers(0, 2, rows),
        }
    )


def inputs(frame: Any = None) -> Any:
    return (table() if frame is None else frame).drop(columns="died")


def opened(frame: Any, facts: Preprocessing) -> Source:
    return open_source(Request(data=frame, target="died", preprocessing=facts))


def ours(source: Source) -> np.ndarray:
    """The inputs of a model, as our encoder and the arrangement make them."""
    facts = source.preprocessing
    assert facts is not None
    encoder = Encoder(schema=source.table.schema, preprocessing=facts, standardise_onehot=facts.standardised)
    x = encoder.encode(source.table, encoder.statistics(source.table))
    made = arrangement_of(facts, encoder.layout)
    return x if made is None else x @ made.matrix(x.shape[1]) + np.array(made.offsets, dtype=np.float32)


FILLED = ("fill", SimpleImputer(strategy="median"))


def of(numbers: Any, words: Any, *, first: bool = False) -> ColumnTransformer:
    parts = [("numbers", numbers, NUMBERS), ("words", words, WORDS)]
    return ColumnTransformer(parts[::-1] if first else parts, sparse_threshold=0)


KNOWN: dict[str, Any] = {
    "standard": of(Pipeline([FILLED, ("scale", StandardScaler())]), OneHotEncoder()),
    "sparse": ColumnTransformer(
        [("n", Pipeline([FILLED, ("s", StandardScaler(with_mean=False))]), NUMBERS), ("w", OneHotEncoder(), WORDS)],
        sparse_threshold=1.0,
    ),
    "words first": of(Pipeline([FILLED, ("scale", MinMaxScaler((-1, 1)))]), OneHotEncoder(), first=True),
    "clipped": of(Pipeline([FILLED]), OneHotEncoder(handle_unknown="ignore")),
    "robust, dropped": of(Pipeline([FILLED, ("scale", RobustScaler())]), OneHotEncoder(drop="first")),
    "binary dropped": of(Pipeline([FILLED, ("scale", MaxAbsScaler())]), OneHotEncoder(drop="if_binary")),
    "rare": of(
        Pipeline([FILLED, ("scale", StandardScaler(with_std=False))]),
        OneHotEncoder(min_frequency=0.1, handle_unknown="infrequent_if_exist"),
    ),
    "most": of(Pipeline([FILLED]), OneHotEncoder(max_categories=3, drop="first")),
    "uniform": of(Pipeline([FILLED, ("bend", QuantileTransformer(n_quantiles=50))]), OneHotEncoder()),
    "normal": of(
        make_pipeline(
            SimpleImputer(), StandardScaler(), QuantileTransformer(n_quantiles=99, output_distribution="normal")
        ),
        OneHotEncoder(),
    ),
    "codes": of(Pipeline([FILLED]), OrdinalEncoder()),
    "scaled codes": of(Pipeline([FILLED]), make_pipeline(OrdinalEncoder(), StandardScaler())),
    "all scaled": make_pipeline(of(Pipeline([FILLED]), OneHotEncoder(drop="if_binary")), StandardScaler()),
    "by kind": ColumnTransformer(
        [
            ("n", make_pipeline(SimpleImputer(), StandardScaler()), make_column_selector(dtype_include="number")),
            ("w", OneHotEncoder(sparse_output=False), [2, 3]),
        ]
    ),
    "rest passes": ColumnTransformer(
        [("w", OneHotEncoder(sparse_output=False), slice("colour", "smoker")), ("i", SimpleImputer(), ["income"])],
        remainder="passthrough",
    ),
}


@pytest.mark.parametrize("name", KNOWN)
def test_the_facts_encode_as_it_does(name: str) -> None:
    frame, fitted = table(), KNOWN[name]
    theirs = fitted.fit_transform(inputs(frame))
    theirs = theirs.toarray() if hasattr(theirs, "toarray") else np.asarray(theirs)
    facts = from_sklearn(fitted)
    source = opened(frame, facts)
    np.testing.assert_allclose(ours(source), theirs.astype(np.float32), rtol=2e-5, atol=2e-5)
    assert Preprocessing.from_toml(facts.to_toml()) == facts


@pytest.mark.parametrize("name", KNOWN)
def test_what_is_encoded_comes_back(name: str) -> None:
    KNOWN[name].fit(inputs())
    source = opened(table(), from_sklearn(KNOWN[name]))
    assert not [note for note in source.notes if "come back" in note]
    rare = [note for note in source.notes if "cannot be told apart" in note]
    assert bool(rare) == (name in ("rare", "most"))


def test_new_rows_are_encoded_with_the_old_facts() -> None:
    fitted = KNOWN["rare"].fit(inputs())
    later = table(80)
    later.loc[0, "colour"] = "beige"
    expected = fitted.transform(inputs(later))
    np.testing.assert_allclose(ours(opened(later, from_sklearn(fitted))), expected, rtol=2e-5, atol=2e-5)


def test_clipped_numbers_are_cut() -> None:
    fitted = of(Pipeline([FILLED, ("scale", MinMaxScaler(clip=True))]), OneHotEncoder()).fit(inputs())
    later = table(80)
    later.loc[0, "age"] = 120
    source = opened(later, from_sklearn(fitted))
    np.testing.assert_allclose(ours(source), fitted.transform(inputs(later)), rtol=2e-5, atol=2e-5)
    assert any("beyond its ends" in note for note in source.notes)


def unfitted(words: Any = None, **more: Any) -> ColumnTransformer:
    return ColumnTransformer([("n", StandardScaler(), NUMBERS), ("w", words or OneHotEncoder(), WORDS)], **more)


@pytest.mark.parametrize(
    ("made", "sentence"),
    [
        (lambda: unfitted(), "ColumnTransformer is not fitted; call fit first"),
        (lambda: StandardScaler().fit(inputs()[["age"]].to_numpy()), "fitted on an array"),
        (lambda: make_pipeline(PCA(1)).fit(inputs()[["age"]]), "a step PCA, which is not known"),
        (
            lambda: ColumnTransformer([("n", StandardScaler(), ["age"])]).fit(inputs()),
            "drops the column 'income', 'colour', 'smoker'",
        ),
        (
            lambda: ColumnTransformer([("a", StandardScaler(), ["age"]), ("b", MinMaxScaler(), ["age"])]).fit(
                inputs()[["age"]]
            ),
            "adds columns: 'age' is in 'a' and in 'b'",
        ),
        (lambda: SimpleImputer(add_indicator=True).fit(inputs()[NUMBERS]), "adds columns: SimpleImputer"),
        (lambda: SimpleImputer(missing_values=18).fit(inputs()[["age"]]), "fills cells that are 18"),
        (lambda: OrdinalEncoder(min_frequency=9).fit(inputs()[WORDS]), "OrdinalEncoder with rare categories"),
    ],
)
def test_what_cannot_be_read_is_one_sentence(made: Any, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        from_sklearn(made())


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda frame: frame.rename(columns={"age": "years"}), "has a column 'age', which the table has not"),
        (lambda frame: frame.assign(more=frame.income * 2), "drops the column 'more'"),
        (lambda frame: frame.assign(age=np.where(frame.age > 80, np.nan, frame.age)), "does not fill them"),
        (lambda frame: frame.assign(colour="puce"), "a category that the preprocessing does not know"),
        (lambda frame: frame.assign(smoker=None), "'smoker'"),
    ],
)
def test_a_table_that_does_not_fit_is_one_sentence(change: Any, sentence: str) -> None:
    frame = table().assign(income=lambda frame: frame.income.fillna(0))
    with pytest.raises(InputError, match=sentence):
        opened(change(frame), from_sklearn(unfitted().fit(inputs(frame))))


def test_what_is_no_preprocessor_is_one_sentence() -> None:
    with pytest.raises(InputError, match="it must be a fitted scikit-learn preprocessor"):
        Request(data=pl.DataFrame({"a": [1]}), target="a", preprocessing=3)
