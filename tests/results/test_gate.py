"""A gate that cannot be fooled: weak attacks, few trials and failures do not pass, and what is safe and shown does."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import seepage
from seepage._core import Streams
from seepage.cli.main import app
from seepage.data import clinic
from seepage.results import ALL_COLUMNS, ATTACK, BASELINES, Measure, Record
from seepage.results.gate import Limits, asked_attacks, breaches
from seepage.results.rows import RowsResult, RowsSummary
from tests.report.example import a_cell, a_summary, records_of

RANKS = (("exact",), ("fast",), ("gradient_matching",))
LIMITS = Limits(exact=0.05, gain=0.05)


def summary_of(*cells: RowsResult) -> RowsSummary:
    return a_summary(records_of(a_cell(), 2)).model_copy(update={"cells": cells})


def cell_of(
    trials: int = 60, attack: str = "exact", weaker: str = "", outcome: str = "ok", **changes: Any
) -> RowsResult:
    """A cell in which nothing was read."""
    usual = {"accuracy": 0.5, "exact": 0.0}
    records = records_of(a_cell(attack=attack), trials, **{**usual, **changes}, outcome=outcome)  # type: ignore[arg-type]
    (cell,) = a_summary(records).cells
    return cell.model_copy(update={"strongest": RANKS, "weaker": weaker})


def test_nothing_read_by_the_strongest_attack_in_many_trials_passes() -> None:
    assert breaches(summary_of(cell_of()), LIMITS) == []
    assert asked_attacks(summary_of(cell_of())) == {"exact": 1}


@pytest.mark.parametrize(
    ("cells", "why"),
    [
        ((cell_of(attack="gradient_matching"),), "exact, was not run, only gradient_matching"),
        ((cell_of(attack="exact:restarts=5", weaker="restarts=5, by default 30"),), "less than it ships with"),
        ((cell_of(outcome="not_applicable"), cell_of(attack="gradient_matching")), "fast, was not run"),
        ((cell_of(trials=58),), "58 trials are too few to show that no more than this limit leaks; 59 are needed"),
        ((cell_of().model_copy(update={"strongest": None}),), "earlier version"),
    ],
)
def test_what_was_not_shown_does_not_pass(cells: tuple[RowsResult, ...], why: str) -> None:
    (breach,) = breaches(summary_of(*cells), LIMITS)
    assert why in breach.what
    assert breach.weak


def behind(defense: str, attack: str, **changes: Any) -> RowsResult:
    return cell_of(attack=attack, **changes).model_copy(update={"defense": defense})


@pytest.mark.parametrize(
    ("others", "why"),
    [
        ((), "not tested: adaptive, the attack that knows it, was not run"),
        (({"weaker": "chains=2, by default 8"},), "not tested: adaptive, the attack that knows it, was run with less"),
        (({"outcome": "diverged"},), "not tested: adaptive, the attack that knows it, gave nothing to score"),
        (({},), ""),
        (({"outcome": "not_applicable"},), ""),
    ],
)
def test_a_defence_that_was_attacked_blindly_does_not_pass(others: tuple[dict[str, Any], ...], why: str) -> None:
    cells = [behind("top_k:0.1", "exact"), *(behind("top_k:0.1", "adaptive", **each) for each in others)]
    found = [breach for breach in breaches(summary_of(*cells), LIMITS) if "not tested" in breach.what]
    assert [why in breach.what for breach in found] == ([True] if why else [])
    assert all(breach.weak for breach in found)


def test_without_a_defence_there_is_none_to_know() -> None:
    assert breaches(summary_of(behind("none", "exact")), LIMITS) == []


def test_where_the_strongest_cannot_be_mounted_the_next_one_counts() -> None:
    cells = (cell_of(outcome="not_applicable"), cell_of(attack="fast"))
    assert breaches(summary_of(*cells), LIMITS) == []
    assert asked_attacks(summary_of(*cells)) == {"fast": 1}


def test_a_weak_attack_that_reads_rows_is_a_leak_all_the_same() -> None:
    found = breaches(summary_of(cell_of(attack="fast", accuracy=0.99, exact=1.0)), LIMITS)
    assert [breach.weak for breach in found] == [False, False, True]
    assert "100.0% of rows read exactly (nearly: up to 100.0%); allowed is 5.0%" in found[0].what


@pytest.mark.parametrize(
    ("limits", "needed"),
    [({"exact": 0.05}, 59), ({"exact": 0.01}, 299), ({"exact": 0.0}, 299), ({"emr": 0.2}, 14), ({"exact": 1.0}, 2)],
)
def test_how_many_trials_a_limit_needs(limits: dict[str, float], needed: int) -> None:
    assert breaches(summary_of(cell_of(trials=needed)), Limits(**limits)) == []
    if needed > 2:
        (breach,) = breaches(summary_of(cell_of(trials=needed - 1)), Limits(**limits))
        assert f"{needed} are needed" in breach.what


def generated(number: int) -> tuple[RowsSummary, bool, bool]:
    """A summary whose truth is known: whether it leaks more than is allowed, and whether enough was measured.

    Leaks are rows that are read in a share of the batches: in all of them alike, or in some batches whole.
    """
    random = Streams(17).numpy("gate", number)
    leaks = number % 2 == 0
    trials = int(random.choice([5, 20, 60, 80, 120]))
    ranks = RANKS if random.uniform() < 0.8 else (("exact", "fast"), ("gradient_matching",))
    attack = str(random.choice(["exact", "exact", "exact", "fast", "gradient_matching"]))
    cut = random.uniform() < 0.2
    share = random.uniform(0.12, 1.0) if leaks else 0.0
    whole_batches = random.uniform() < 0.5
    reads = attack in ranks[0] and not cut  # a weak attack may read nothing of what leaks
    cell = a_cell(attack=attack)
    records = []
    for trial in range(trials):
        hit = (random.uniform() < share) if whole_batches else random.binomial(8, share) / 8
        read = float(hit) if reads else 0.0
        guess = random.normal(0.56, 0.02)
        values = {Measure(ATTACK, ALL_COLUMNS, name): read for name in ("exact", "emr")}
        beyond = random.normal(-0.05, 0.02)  # what an attack that reads nothing gets is below the best guess
        values[Measure(ATTACK, ALL_COLUMNS, "accuracy")] = read + (1 - read) * (guess + beyond)
        values |= {Measure(name, ALL_COLUMNS, "accuracy"): guess for name in BASELINES}
        values |= {Measure(name, ALL_COLUMNS, each): 0.0 for name in BASELINES for each in ("exact", "emr")}
        records.append(
            Record(cell=cell, repeat=trial // 10, client=trial % 10, rows=8, outcome="ok", seconds=1.0, values=values)
        )
    (made,) = a_summary(records).cells
    made = made.model_copy(update={"strongest": ranks, "weaker": "restarts=1, by default 30" if cut else ""})
    return summary_of(made), leaks, reads and trials >= 59


def test_of_200_summaries_with_known_truth_no_leaking_one_passes_and_the_safe_ones_do() -> None:
    passed: dict[tuple[bool, bool], list[bool]] = {}
    for number in range(200):
        summary, leaks, shown = generated(number)
        passed.setdefault((leaks, shown), []).append(breaches(summary, LIMITS) == [])
    assert not any(passed[True, True])
    assert not any(passed[True, False])
    assert not any(passed[False, False])
    assert np.mean(passed[False, True]) >= 0.95
    assert min(map(len, passed.values())) >= 15


@pytest.fixture(scope="module")
def weak_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The seen case: 32 rows that the default attack reads all, attacked by another with a hundredth of its steps."""
    folder = tmp_path_factory.mktemp("gate") / "run"
    seepage.audit(
        clinic(rows=600), target="died", batch_sizes=8, clients=2, trials=4, exposure=0, out=folder,
        attack_points=("initialized",), attacks=("gradient_matching:steps=100",),
    )  # fmt: skip
    return folder


def test_a_run_of_a_weak_attack_does_not_pass(weak_run: Path) -> None:
    limits = ["--max-emr", "0", "--max-gain", "0.05"]
    stopped = CliRunner().invoke(app, ["gate", "--run", str(weak_run), *limits])
    assert stopped.exit_code == 1
    assert "Strongest applicable attack, by counting: exact (1 choice)." in stopped.output
    assert "exact, was not run, only gradient_matching" in stopped.output
    accepted = CliRunner().invoke(
        app, ["gate", "--run", str(weak_run), "--max-emr", "1", "--max-gain", "1", "--accept-weak"]
    )
    assert accepted.exit_code == 0
    assert "accepted (--accept-weak): " in accepted.output


def test_the_needed_trials_follow_from_the_share_that_may_be_missed() -> None:
    assert math.isclose(0.95**59, 0.05, rel_tol=0.05)
