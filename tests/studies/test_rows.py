from __future__ import annotations

from typing import Any

import pytest

import seepage
from seepage._core import InputError, Outcome
from seepage.runs.api import open_sources
from seepage.runs.plan import make_plan
from tests import cases

PUBLISHED = ("tableak:restarts=2", "inverting_gradients", "dlg", "sapag")
TINY: dict[str, Any] = {
    "batch_sizes": (2,),
    "trials": 2,
    "clients": 2,
    "exposure": 0,
    "attack_points": "initialized",
    "attack_options": {"steps": 3},
}
SMALL = {
    "mlp": "mlp:width=8",
    "mlp_tableak": "mlp_tableak:width=8",
    "resnet": "resnet:width=8:blocks=1",
    "ft_transformer": "ft_transformer:width=8:heads=2:blocks=1",
    "tabnet": "tabnet:n_d=4:n_a=4:steps=2",
    "linear": "linear",
}


@pytest.mark.slow
@pytest.mark.parametrize("task", cases.TASKS)
@pytest.mark.parametrize("protocol", ["fedsgd", "fedavg"])
@pytest.mark.parametrize("labels", [True, False], ids=["labels known", "labels unknown"])
def test_every_published_attack_runs_on_every_model_and_task(task: str, protocol: str, labels: bool) -> None:
    local = {"local_rows": 4, "local_epochs": 2} if protocol == "fedavg" else {}
    summary = seepage.audit(
        cases.frame(task),
        target="target",
        task=task,
        models=tuple(SMALL.values()),
        attacks=PUBLISHED,
        protocol=protocol,
        labels_known=labels,
        **(TINY | local),
    )
    assert len(summary.cells) == len(SMALL) * len(PUBLISHED)
    scored = {Outcome.OK.code, Outcome.BUDGET_SPENT.code}
    for cell in summary.cells:
        assert cell.outcome in scored, (cell.model, cell.attack, cell.notes)
        assert cell.metrics["accuracy"].mean >= 0


@pytest.mark.parametrize("task", ["binary", "regression"])
def test_the_profiling_studys_set_up_runs(task: str) -> None:
    summary = seepage.audit(
        cases.frame(task),
        target="target",
        task=task,
        models=("mlp:start=xavier:width=8",),
        attacks=("profiling",),
        protocol="fedavg",
        local_rows=4,
        local_epochs=2,
        local_order="kept",
        only_local_rows=True,
        targets="none",
        learning_rate=1e-6,  # a target of thousands, not scaled, diverges at any usual rate
        **TINY,
    )
    assert [cell.failed for cell in summary.cells] == [0]


def test_settings_of_local_rows_without_local_rows_are_refused() -> None:
    with pytest.raises(InputError, match="needs a number of local rows"):
        make_plan({"data": "adult", "protocol": "fedavg", "local_rows": "all", "only_local_rows": True})
    with pytest.raises(InputError, match="'local_order' belongs to the protocol fedavg"):
        make_plan({"data": "adult", "local_order": "kept"})


def test_two_frames_are_two_tables() -> None:
    first, second = cases.frame(), cases.frame(rows=90)
    small = {"target": "target", "models": ["linear"], "batch_sizes": [2], "attacks": ["inverting_gradients:steps=2"]}
    small |= {"attack_points": ["initialized"], "exposure": 0, "trials": 2, "clients": 2, "data": None}
    named = [{"name": "east", "data": first}, {"name": "west", "data": second}, {"name": "east again", "data": first}]
    plan = make_plan(small | {"cases": named})
    tables = [len(source.table) for source in open_sources(plan)]
    assert tables == [120, 90, 120]
    summary = seepage.audit(**small | {"cases": named})
    assert [cell.variant for cell in summary.cells] == ["east", "west", "east again"]
    with pytest.raises(InputError, match="test the same thing"):
        make_plan(small | {"cases": [{"data": first}, {"data": second}]})


def test_rounds_are_joined_by_attacks_that_can() -> None:
    settings = {
        "data": cases.frame(rows=120), "target": "target", "models": ["linear"], "batch_sizes": [4], "clients": 2,
        "trials": 1, "exposure": 1, "fixed_batch": True, "attack_points": ["initialized"], "rounds": [1, 2],
        "attacks": ["exact:steps=2:restarts=1:starts=1:start_steps=2", "inverting_gradients:steps=2"],
    }  # fmt: skip
    summary = seepage.audit(**settings)
    assert [(cell.attack.partition(":")[0], cell.watched) for cell in summary.cells] == [
        ("exact", 1), ("exact", 2), ("inverting_gradients", 1),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"rounds": [2], "attacks": ["fast"]}, "'fast' works on one update, and 1 is not among the rounds"),
        ({"rounds": [1, 2], "attacks": ["fast"]}, "None of the attacks .fast. joins rounds; exact does"),
        ({"rounds": [0]}, "at least 1"),
        ({"rounds": [2, 2]}, "'2' .*twice|each once|more than once"),
    ],
)
def test_rounds_that_cannot_be_joined_are_one_sentence(values: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        make_plan({"data": "adult", **values})
