"""What a run was computed by is kept, told when it is mixed, and compared."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

from seepage.cli.main import app
from seepage.report import write_report
from seepage.results import Run, read_summary
from seepage.results.compare import compare
from seepage.runs import run
from seepage.runs.identity import versions
from seepage.runs.machine import machine
from tests.runs.test_sweep import SMALL, a_plan


def test_a_run_says_what_computed_it_and_not_whose_machine_that_is(tmp_path: Path) -> None:
    summary = run(a_plan(tmp_path, SMALL), out=tmp_path / "run", command="")
    head = json.loads((tmp_path / "run" / "run.json").read_text())["machine"]
    assert set(head) == {"processor", "kernels", "threads", "compiler"}
    assert head["kernels"].startswith(torch.backends.cpu.get_cpu_capability())
    assert summary.machine == head | {"compiled": "no"}
    assert not {platform.node(), os.environ.get("USER") or "nobody"} & set(summary.machine.values())
    assert summary.mixed == ()
    shown = json.loads(CliRunner().invoke(app, ["env", "--json"]).output)
    assert machine().items() <= shown.items()


def test_a_run_begun_on_other_versions_goes_on_and_says_so(tmp_path: Path) -> None:
    plan, folder = a_plan(tmp_path, SMALL), tmp_path / "run"
    run(plan, out=folder, command="")
    first = min((folder / "tasks").glob("*.json")).name
    for file in ("run.json", f"tasks/{first}"):  # as if another torch had begun it
        document = json.loads(Run(folder).read(file))
        document["versions"]["torch"] = "1.0"
        document["machine"]["kernels"] = "OTHER"
        Run(folder).write(file, json.dumps(document))
    with pytest.warns(UserWarning, match=r"begun with torch 1\.0 and not"):
        summary = run(plan, out=folder, command="")
    assert summary.versions["torch"] == f"1.0 and {versions()['torch']}"
    assert "Tasks of this run were computed on different versions (torch 1.0 and" in str(summary)
    assert "different machines (kernels" in str(summary)
    write_report(Run(folder))
    assert "computed on different versions" in (folder / "report.html").read_text()


def test_compare_says_when_two_runs_were_computed_by_different_things(tmp_path: Path) -> None:
    summary = run(a_plan(tmp_path, SMALL), out=tmp_path / "one", command="")
    assert compare(summary, summary).computed == ()
    other = {"kernels": "DEFAULT", "compiler": "none"}  # a compiler that was not used changes nothing
    second = summary.model_copy(update={"machine": summary.machine | other})
    assert compare(summary, second).computed == (f"kernels {summary.machine['kernels']} → DEFAULT",)
    run(a_plan(tmp_path, SMALL), out=tmp_path / "two", command="")
    Run(tmp_path / "two").write("summary.json", second.to_json())
    said = CliRunner().invoke(app, ["compare", str(tmp_path / "one"), str(tmp_path / "two")], catch_exceptions=False)
    assert "Computed by different things: kernels" in said.output
    earlier = summary.model_copy(update={"machine": {}})  # a summary from before these were kept
    assert "kernels not known → " in "; ".join(compare(earlier, summary).computed)
    assert read_summary(Run(tmp_path / "one")).machine == summary.machine


@pytest.mark.slow
def test_other_kernels_are_recorded_and_told(tmp_path: Path) -> None:
    a_plan(tmp_path, SMALL)
    words = ["audit", "--data", str(tmp_path / "table.csv"), "--target", "target", "--model", "linear"]
    words += [
        "--batch-size",
        "2",
        "--trials",
        "2",
        "--clients",
        "2",
        "--exposure",
        "0",
        "--attacks",
        "inverting_gradients:steps=2",
    ]
    for name, kernels in (("one", "default"), ("two", "avx2")):
        environment = os.environ | {"ATEN_CPU_CAPABILITY": kernels}
        command = [sys.executable, "-m", "seepage", *words, "--out", str(tmp_path / name)]
        subprocess.run(command, env=environment, check=True, capture_output=True, timeout=120)
    one, two = (read_summary(Run(tmp_path / name)) for name in ("one", "two"))
    assert one.machine["kernels"] != two.machine["kernels"]
    assert any(text.startswith("kernels ") for text in compare(one, two).computed)
