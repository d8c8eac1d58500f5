"""The commands of studies: options from their settings, plans, and what belongs to another study."""

from __future__ import annotations

import json
import re
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from seepage.cli.main import app, main
from seepage.plans.options import flag_of, option_of
from seepage.studies import SETTINGS
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
    assert str(document["path"]).startswith("runs/table-plan-")


def test_options_typed_beside_a_plan_take_precedence(folder: Path) -> None:
    document = audited("--plan", "plan.toml", "--defense", "quantisation:1", "--batch-size", "1,2", "--model", "mlp")
    assert {(cell["defense"], cell["model"]) for cell in document["cells"]} == {("quantisation:bits=1", "mlp")}
    assert [cell["batch_size"] for cell in document["cells"]] == [1, 2]
    assert document["settings"]["trials"] == 2  # the plan's, not the default


def test_the_table_names_what_differs(folder: Path) -> None:
    words = ["audit", "--plan", "plan.toml", "--model", "linear,mlp:width=8", "--out", "run"]
    printed = CliRunner().invoke(app, words, catch_exceptions=False).stdout
    assert "protocol fedsgd" in printed.splitlines()[0]
    assert "2 attacked batches per line" in printed
    assert "mlp width 8" in printed
    assert "defense" in printed.splitlines()[2]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["audit", "--people", "3"], "The option --people belongs to the study vertical: seepage audit vertical"),
        (["audit", "--property", "x"], "belongs to the study property: seepage audit property"),
        (["audit", "--loss", "banana"], "Unknown criterion 'banana'"),
        (["audit", "--design", "tabvfl"], "belongs to the studies training and parties: seepage train"),
        (["audit", "vertical", "--exposure", "3"], "belongs to the study rows: seepage audit --exposure"),
        (["audit", "property", "--model", "mlp"], "belongs to the studies rows and vertical"),
        (["train", "--reveal"], "belongs to the studies rows and vertical"),
        (["audit", "--batchsize", "3"], "There is no option --batchsize. Did you mean --batch-size?"),
        (["audit", "vertical", "--peple", "3"], "Did you mean --people?"),
        (["audit", "--seed", "1", "vertical"], "Options come after the study: seepage audit vertical --seed"),
        (["audit", "vertcal"], "Did you mean 'vertical'?"),
        (["adit"], "Did you mean 'audit'?"),
        (["audit", "--data", "table.csv", "--trials", "many"], "Setting 'trials' is 'many': must be a whole number."),
        (["audit", "--seed"], "Option '--seed' requires an argument."),
        (["audit", "vertical", "--plan", "plan.toml"], "plan.toml is of the study rows; this command is of"),
        (["audit", "--plan", "plan.toml", "--jobs", "0"], "Setting 'jobs' is '0': must be at least 1."),
        (["audit", "--plan", "plan.toml", "--backend", "dusk"], "Did you mean 'dask'"),
    ],
)
def test_a_wrong_word_is_one_line(
    folder: Path,
    words: list[str],
    sentence: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "argv", ["seepage", *words])
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)  # main sets it; this puts it back
    with pytest.raises(SystemExit) as ended:
        main()
    printed = capsys.readouterr()
    assert ended.value.code == 2
    assert printed.err.startswith("error: ")
    assert len(printed.err.splitlines()) == 1
    assert sentence in printed.err
    assert not Path("runs").exists()


@pytest.mark.parametrize("study", SETTINGS)
def test_help_shows_the_options_of_its_study_and_no_others(study: str) -> None:
    words = {"rows": ["audit"], "training": ["train"]}.get(study, ["audit", study])
    text = CliRunner().invoke(app, [*words, "--help"], catch_exceptions=False).output
    own = {
        flag_of(name, field) for name, field in SETTINGS[study].model_fields.items() if not option_of(field).positional
    }
    every = {flag_of(name, field) for kind in SETTINGS.values() for name, field in kind.model_fields.items()}
    shown = set(re.findall(r"^  (--[a-z-]+)", text, re.M))
    assert own <= shown
    assert not (every - own - {"--path", "--group"}) & shown
    first = text.split("The table:")[0]
    assert len(re.findall(r"^  --", first, re.M)) <= 11  # the ten that a person needs first, and --help
    assert "Advanced" in text


FEDAVG = PLAN.replace("attack_options = {steps = 3}", 'attack_options = {steps = 2}\nprotocol = "fedavg"')


@pytest.mark.parametrize("said", ['local_rows = "all"', '[grid]\nlocal_rows = ["all", 4]'])
def test_all_local_rows_can_be_said_in_a_plan(folder: Path, said: str) -> None:
    Path("plan.toml").write_text(f"{FEDAVG}{said}\n")
    document = audited("--plan", "plan.toml", "--defense", "none", "--jobs", "1")
    assert document["settings"]["local_rows"] == "all"
    assert document["not_run"] == []
    assert {cell["failed"] for cell in document["cells"]} == {0}


def test_options_have_the_names_of_plans_too(folder: Path) -> None:
    words = ["--data", "table.csv", "--target", "target", "--attack_points", "initialized", "--exposure", "0"]
    document = audited(
        *words, "--models", "linear", "--batch_sizes", "2", "--attack", "fast:restarts=2:steps=2", "--defenses", "none",
        "--trials", "2", "--clients", "2",
    )  # fmt: skip
    (cell,) = document["cells"]
    assert (cell["model"], cell["batch_size"], cell["attack"]) == ("linear", 2, "fast:restarts=2:steps=2")


@pytest.mark.parametrize("study", SETTINGS)
def test_every_name_of_a_plan_is_an_option(study: str) -> None:
    from seepage.cli.declared import other_names
    from seepage.plans.options import option_of

    fields = SETTINGS[study].model_fields
    flags = {flag_of(name, field) for name, field in fields.items()}
    typed = {f"--{name}" for name in other_names(fields)} | flags
    for name, field in fields.items():
        if not option_of(field).off:
            assert f"--{name.replace('_', '-')}" in typed


def test_an_interrupt_tells_how_to_go_on(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stopped(*_: object, out: Path, **__: object) -> None:
        out.mkdir(parents=True)
        (out / "run.json").write_text("{}")
        raise KeyboardInterrupt

    monkeypatch.setattr("seepage.runs.run", stopped)
    monkeypatch.setattr(sys, "argv", ["seepage", "audit", "--plan", "plan.toml", "--out", "runs/mine", "--jobs", "1"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 130
    told = capsys.readouterr().err
    assert "the same command with --out runs/mine" in told
    assert "seepage report runs/mine" in told


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["audit", "table.csv"], "A table is named with --data: seepage audit --data FILE --target COLUMN"),
        (["export", "runs/mine"], "The CSV file to write. See seepage export --help."),
    ],
)
def test_what_is_missing_is_told_with_what_to_type(
    words: list[str], said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["seepage", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert said in capsys.readouterr().err
