"""`seepage audit --plan`: a file, and options beside it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from seepage.cli.main import app
from tests import cases

PLAN = """
data = "table.csv"
target = "target"
model = "linear"
defenses = ["none", "top_k:0.5"]
batch_sizes = [2]
attack_points = ["initialized"]
attacks = ["fast:restarts=2"]
attack_options = {steps = 3}
local_statistics = false
exposure = 0
trials = 2
clients = 2
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    cases.frame().write_csv("table.csv")
    Path("plan.toml").write_text(PLAN)
    return tmp_path


def audited(*words: str) -> dict[str, Any]:
    result = CliRunner().invoke(app, ["audit", "--json", *words], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    document: dict[str, Any] = json.loads(result.stdout)
    return document


def test_a_plan_runs_and_names_its_folder(folder: Path) -> None:
    document = audited("--plan", "plan.toml")
    assert [cell["defense"] for cell in document["cells"]] == ["none", "top_k:share=0.5"]
    assert document["settings"]["local_statistics"] is False
    assert str(document["path"]).startswith("runs/table-fedsgd-plan-")


def test_options_beside_a_plan_go_before(folder: Path) -> None:
    document = audited("--plan", "plan.toml", "--defense", "quantisation:1", "--batch-size", "1,2", "--model", "mlp")
    assert {(cell["defense"], cell["model"]) for cell in document["cells"]} == {("quantisation:bits=1", "mlp")}
    assert [cell["batch_size"] for cell in document["cells"]] == [1, 2]
    assert document["settings"]["trials"] == 2  # the plan's, not the default


def test_the_table_names_what_differs(folder: Path) -> None:
    words = ["audit", "--plan", "plan.toml", "--model", "linear,mlp:width=8", "--out", "run"]
    printed = CliRunner().invoke(app, words, catch_exceptions=False).stdout
    assert "defence none, top_k:share=0.5" in printed
    assert "mlp:width=8" in printed
    assert "defense" in printed.splitlines()[2]
