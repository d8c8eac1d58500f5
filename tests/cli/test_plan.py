"""`seepage plan` and `seepage gate --plan`: what a plan would run, and whether it may leak."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from seepage._core import InputError
from seepage.cli.main import app
from tests import cases

PLAN = """
data = "table.csv"
target = "target"
model = "linear"
batch_sizes = [2, 500]
attack = "inverting_gradients"
attack_points = ["initialized"]
attack_options = {steps = 2}
exposure = 0
trials = 2
clients = 2

[grid]
seed = [0, 1]
"""


@pytest.fixture
def plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    cases.frame().write_csv("table.csv")
    Path("plan.toml").write_text(PLAN)
    return Path("plan.toml")


def test_validate_lists_what_cannot_be_run(plan: Path) -> None:
    found = CliRunner().invoke(app, ["plan", "validate", str(plan)], catch_exceptions=False)
    assert found.exit_code == 1
    assert "study rows, 4 tasks in 2 variants, 2 cannot be run" in found.output
    assert "batch 500" in found.output
    plan.write_text(PLAN.replace(", 500", ""))
    assert CliRunner().invoke(app, ["plan", "validate", str(plan)], catch_exceptions=False).exit_code == 0


def test_show_estimates_time_and_memory(plan: Path) -> None:
    found = CliRunner().invoke(app, ["plan", "show", str(plan), "--json", "--jobs", "2"], catch_exceptions=False)
    facts = json.loads(found.output)
    assert facts["cells"] == 2
    assert facts["seconds"] > 0
    assert facts["memory_bytes"] > 2**20
    assert facts["probed"] == "2 of 2 kinds of work"
    assert len(facts["impossible"]) == 2
    table = CliRunner().invoke(app, ["plan", "show", str(plan), "--probe", "0"], catch_exceptions=False).output
    assert "seed=1" in table
    assert "cannot be run" in table


def test_a_plan_without_a_table(plan: Path) -> None:
    plan.write_text("trials = 3")
    with pytest.raises(InputError, match="Which table is to be audited"):
        CliRunner().invoke(app, ["plan", "validate", str(plan)], catch_exceptions=False)


def test_a_gate_runs_a_plan_and_says_what_is_above_the_limit(plan: Path) -> None:
    plan.write_text(PLAN.replace(", 500", "").replace("[grid]\nseed = [0, 1]\n", ""))
    passed = CliRunner().invoke(app, ["gate", "--plan", str(plan), "--max-emr", "1", "--accept-weak", "--out", "run"])
    assert passed.exit_code == 0
    assert Path("run/report.html").exists()
    assert "0 above the limits, too weakly attacked or not measured" in passed.output
    written = {path: path.stat().st_mtime_ns for path in Path("run/records").iterdir()}
    again = CliRunner().invoke(app, ["gate", "--plan", str(plan), "--max-emr", "0", "--max-gain", "0", "--out", "run"])
    cell = json.loads(Path("run/summary.json").read_text())["cells"][0]
    above = [name for name in ("emr", "gain") if cell["judged"][name]["high"] > 0]
    assert again.exit_code == 1  # a few trials are too few for limits of zero, whatever they read
    assert again.output.count("allowed is 0.0%") == len(above)
    assert written == {path: path.stat().st_mtime_ns for path in Path("run/records").iterdir()}  # not run again


def test_a_grid_or_cases_may_name_the_tables(plan: Path) -> None:
    plan.write_text(PLAN.replace('data = "table.csv"\n', "").replace(", 500", "") + 'data = ["table.csv"]\n')
    assert CliRunner().invoke(app, ["plan", "validate", str(plan)], catch_exceptions=False).exit_code == 0
    words = ["audit", "--plan", str(plan), "--jobs", "1", "--out", "run"]
    assert CliRunner().invoke(app, words, catch_exceptions=False).exit_code == 0
