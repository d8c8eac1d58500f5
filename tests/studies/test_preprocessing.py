"""An audit with somebody's preprocessing: the net takes what their preprocessor gives, and the attacker knows it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch
from sklearn.compose import ColumnTransformer
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, QuantileTransformer, StandardScaler
from torch import nn

import seepage
from seepage._core import InputError, Streams, silent
from seepage.attacks.exact.presence import State, presence_of
from seepage.data.sklearn_facts import from_sklearn
from seepage.models import Inputs
from seepage.runs import make_plan, open_sources
from seepage.studies.rows.making import model_of, train
from tests import cases

QUICK: dict[str, Any] = {
    "target": "target", "batch_sizes": (2,), "clients": 2, "trials": 2, "exposure": 0,
    "attack_points": ("initialized",), "attacks": ("exact:restarts=2",),
}  # fmt: skip


def build(inputs: Inputs) -> nn.Module:
    return nn.Sequential(nn.Linear(inputs.width, 48), nn.ReLU(), nn.Linear(48, inputs.outputs))


def frame() -> Any:
    return pd.DataFrame(cases.frame().to_dict(as_series=False))


def fitted(words: Any, *, numbers: Any = None, first: bool = False) -> ColumnTransformer:
    """A preprocessor of the tests' table."""
    table = frame().drop(columns="target")
    chosen = [name for name in table if table[name].dtype.kind in "if"]
    parts = [
        ("numbers", numbers or StandardScaler(), chosen),
        ("words", words, [name for name in table if name not in chosen]),
    ]
    return ColumnTransformer(parts[::-1] if first else parts, sparse_threshold=0).fit(table)


SHAPES = {
    "plain": fitted(OneHotEncoder()),
    "words first": fitted(OneHotEncoder(), first=True),
    "dropped": fitted(OneHotEncoder(drop="first")),
    "binary dropped": fitted(OneHotEncoder(drop="if_binary"), first=True),
    "quantiles": fitted(OneHotEncoder(), numbers=QuantileTransformer(n_quantiles=20)),
}


@pytest.mark.parametrize("name", SHAPES)
def test_rows_are_read_however_they_are_laid_out(name: str) -> None:
    summary = seepage.audit(frame(), model=build, preprocessing=SHAPES[name], **QUICK)
    assert summary.cells[0].metrics["exact"].mean == 1.0
    assert any("scale their numbers" in sentence for sentence in summary.threat_model.knows)


@pytest.mark.parametrize("name", SHAPES)
def test_the_net_takes_what_the_preprocessor_gives(name: str) -> None:
    plan = make_plan({"data": frame(), "model": build, "preprocessing": SHAPES[name], **QUICK})
    source, settings = open_sources(plan)[0], plan.variants[0].settings
    encoder, learner = model_of(source, settings, settings.models[0], seed=0)
    x = torch.from_numpy(encoder.encode(source.table, encoder.statistics(source.table)))
    theirs = SHAPES[name].transform(frame().drop(columns="target"))
    found = learner.outputs(learner.initial(), x)
    torch.testing.assert_close(found, learner.module(torch.from_numpy(theirs).float()), rtol=1e-4, atol=1e-5)


def test_codes_in_a_net_of_numbers_are_attacked_by_optimisation() -> None:
    asked = {**QUICK, "attacks": ("exact:restarts=2", "fast:steps=10")}
    summary = seepage.audit(frame(), model=build, preprocessing=fitted(OrdinalEncoder()), **asked)
    assert all(set(cell.outcomes) <= {"ok", "budget_spent"} for cell in summary.cells)


def test_a_file_of_facts_gives_the_same_audit(tmp_path: Path) -> None:
    from_sklearn(SHAPES["dropped"]).write(tmp_path / "facts.toml")
    one, other = (
        seepage.audit(frame(), model=build, preprocessing=given, **QUICK)
        for given in (SHAPES["dropped"], tmp_path / "facts.toml")
    )
    assert [cell.metrics for cell in one.cells] == [cell.metrics for cell in other.cells]


def test_a_dropped_category_that_nobody_has_is_told_from_one_that_somebody_has() -> None:
    """It has no entry: what the others of its column leave of the bias tells, and rounding must not."""
    plan = make_plan({"data": frame(), "model": build, "preprocessing": SHAPES["dropped"], **QUICK})
    source, settings = open_sources(plan)[0], plan.variants[0].settings
    trace, _ = train(source, settings, settings.models[0], "none", 2, Streams(0), silent)
    for observation, truth in zip(trace.points[0].observations, trace.points[0].truths, strict=True):
        for column, states in enumerate(presence_of(observation).states):
            there = set(truth.rows.codes[:, column].tolist())
            assert set((states == State.PRESENT).nonzero()[0].tolist()) == there
            assert not {place for place, state in enumerate(states) if state == State.ABSENT} & there


def test_other_studies_do_not_take_it() -> None:
    with pytest.raises(InputError, match="belongs to the studies rows"):
        make_plan({"study": "property", "data": frame(), "target": "target", "preprocessing": SHAPES["plain"]})
