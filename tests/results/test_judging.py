"""Gates, comparisons and exports: what is made of finished cells."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

from seepage._core import InputError
from seepage.cli.main import app
from seepage.results import Run
from seepage.results.compare import compare
from seepage.results.gate import Limits, breaches
from tests.report.example import a_cell, a_summary, records_of


def a_run(folder: Path, **changes: Any) -> Path:
    """A finished run folder."""
    summary = a_summary(records_of(a_cell(**changes)))
    Run.create(folder, {}).write("summary.json", summary.to_json())
    Run.open(folder).add(records_of(a_cell(**changes)))
    return folder


def cells(**changes: Any) -> list[dict[str, Any]]:
    return a_summary(records_of(a_cell(), **changes)).cells


def test_a_gate_judges_the_upper_end_of_the_interval() -> None:
    (cell,) = cells()
    high = cell["metrics"]["emr"]["high"]
    assert high > cell["metrics"]["emr"]["mean"]
    assert breaches([cell], Limits(emr=high)) == []
    (breach,) = breaches([cell], Limits(emr=cell["metrics"]["emr"]["mean"]))
    assert "of rows read exactly" in breach.what
    assert "clinic, fedsgd" in breach.cell
    assert "beyond guessing" in breaches([cell], Limits(gain=0.0))[0].what


def test_what_could_not_be_measured_does_not_pass_a_gate() -> None:
    (cell,) = cells(outcome="diverged")
    assert "could not be measured" in breaches([cell], Limits(emr=1.0))[0].what
    (cell,) = cells(outcome="not_applicable")
    assert "nothing is known" in breaches([cell], Limits(emr=1.0))[0].what


def test_every_attack_point_must_be_measured_and_one_batch_is_not_enough() -> None:
    (cell,) = cells()
    unknown = cell | {"attack_point": "late", "outcome": "not_applicable", "metrics": {}}
    (breach,) = breaches([cell, unknown], Limits(emr=1.0))
    assert breach.cell.endswith("late")
    assert "nothing is known" in breach.what
    once = {name: {"mean": 0.0, "low": None, "high": None} for name in ("accuracy", "emr")}
    (breach,) = breaches([cell | {"metrics": once}], Limits(emr=0.0))
    assert "one attacked batch" in breach.what


@pytest.mark.parametrize("limits", [{}, {"emr": -0.1}, {"gain": 1.5}])
def test_limits_are_shares(limits: dict[str, float]) -> None:
    with pytest.raises(InputError):
        Limits(**limits)


def test_two_runs_are_compared_cell_by_cell() -> None:
    (one,), (two,) = cells(), cells()
    two["metrics"] = two["metrics"] | {"accuracy": {"mean": 0.1, "low": 0.09, "high": 0.11}}
    other = two | {"batch_size": 99}
    found = compare([one], [two, other])
    assert found.differences[0].metric == "accuracy"
    assert found.differences[0].clear
    assert found.differences[0].change < 0
    assert not found.differences[-1].clear
    assert found.only_first == ()
    assert "batch 99" in found.only_second[0]


def test_the_commands(tmp_path: Path) -> None:
    first, second = a_run(tmp_path / "a"), a_run(tmp_path / "b")
    other = a_run(tmp_path / "c", batch_size=77)
    ran = CliRunner().invoke(app, ["compare", str(first), str(second)], catch_exceptions=False)
    assert ran.exit_code == 0
    assert "within the intervals" in ran.output
    with pytest.raises(InputError, match="no cell in common"):
        CliRunner().invoke(app, ["compare", str(first), str(other)], catch_exceptions=False)
    assert CliRunner().invoke(app, ["gate", "--run", str(first), "--max-emr", "1"]).exit_code == 0
    stopped = CliRunner().invoke(app, ["gate", "--run", str(first), "--max-emr", "0"])
    assert stopped.exit_code == 1
    assert "allowed are 0.0%" in stopped.output
    with pytest.raises(InputError, match="a plan"):
        CliRunner().invoke(app, ["gate", "--max-emr", "0"], catch_exceptions=False)


@pytest.mark.parametrize(("what", "column"), [("cells", "accuracy_high"), ("columns", "column"), ("records", "metric")])
def test_a_run_as_csv(tmp_path: Path, what: str, column: str) -> None:
    run, target = a_run(tmp_path / "run"), tmp_path / "run.csv"
    words = ["export", str(run), str(target), "--what", what]
    assert CliRunner().invoke(app, words, catch_exceptions=False).exit_code == 0
    frame = pl.read_csv(target)
    assert column in frame.columns
    assert frame.height >= 1
    with pytest.raises(InputError, match="exists already"):
        CliRunner().invoke(app, words, catch_exceptions=False)
    with pytest.raises(InputError, match="Did you mean 'cells'"):
        CliRunner().invoke(app, [*words[:2], "x.csv", "--what", "cell"], catch_exceptions=False)
