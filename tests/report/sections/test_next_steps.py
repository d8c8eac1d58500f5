from __future__ import annotations

import pytest

from seepage.report.sections.next_steps import next_steps
from seepage.results import Summary
from seepage.results.summary import NotRun, Unfinished
from tests.report.example import a_cell, a_summary, a_utility, every_study, records_of

STUDIES = every_study()


def steps(summary: Summary) -> str:
    return " ".join(f"{step.sentence} {step.command}" for step in next_steps(summary).steps)


@pytest.mark.parametrize("study", STUDIES)
def test_every_study_has_a_short_list(study: str) -> None:
    assert 1 <= len(next_steps(STUDIES[study]).steps) <= 5


def test_a_leak_leads_to_a_defence_and_a_limit() -> None:
    told = steps(a_summary(path="runs/my run", settings={"defenses": ["none"]}))
    assert "seepage audit --data clinic --batch-size 1,8,32 --seed 7 --defense none,dp_sgd:noise=1" in told
    assert "seepage gate --run 'runs/my run' --max-exact 0" in told
    assert "Which settings are safer" in steps(a_summary(settings={"defenses": ["none", "top_k:share=0.1"]}))


def test_the_attack_that_knows_a_defence_is_named_where_it_can_be_run() -> None:
    undefended = {"settings": {"defenses": ["none"]}}
    told = {study: steps(STUDIES[study].model_copy(update=undefended)) for study in ("rows", "vertical")}
    assert all("Audit a defence beside what you have" in each for each in told.values())
    assert "adaptive" in told["rows"]
    assert "adaptive" not in told["vertical"]


def test_a_leak_is_more_urgent_than_a_model_that_learnt_nothing() -> None:
    poor = [a_utility(8, "best", 5, {"loss": 0.7, "roc_auc": 0.4})]
    leaking = steps(a_summary(records_of(a_cell()), utility=poor))
    assert leaking.index("Do not send these updates") < leaking.index("Train the model until")
    nothing = steps(a_summary(records_of(a_cell(), accuracy=0.4, exact=0), utility=poor))
    assert nothing.index("Train the model until") < nothing.index("Try other attacks")


def test_nothing_found_is_no_end() -> None:
    told = steps(a_summary(records_of(a_cell(), 4, accuracy=0.4, exact=0), settings={"trials": 4}))
    assert "Try other attacks before you rely on it" in told
    assert "only 4" in told


def test_what_is_missing_comes_first() -> None:
    summary = a_summary(
        path="runs/part",
        unfinished=Unfinished(tasks=2, tasks_done=1, cells=4, cells_done=3),
        not_run=[NotRun(what="batch 64", reason="not reached", state="missing")],
    )
    assert next_steps(summary).steps[0].command.endswith("--seed 7 --out runs/part")
