"""What holds for every study alike: plan files, processes, clusters, kills, damage, claims, versions, gate, export.

One table of tiny plans drives all of it; a new study adds a row.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import tomli_w
from typer.testing import CliRunner

from seepage._core import InputError
from seepage.cli.main import app
from seepage.report.run_state import run_state
from seepage.results import Run, TaskDone, read_summary
from seepage.runs import Plan, make_plan, open_sources, read_plan, run
from seepage.runs.api import head_of
from seepage.runs.backends import Backend, open_backend
from seepage.runs.sweep import run_here
from seepage.studies import SETTINGS
from tests import cases

PLANS: dict[str, dict[str, Any]] = {
    "rows": {
        "model": "linear",
        "batch_sizes": [2, 3],
        "attack": "inverting_gradients:steps=2",
        "attack_points": ["initialized"],
        "exposure": 0,
        "trials": 2,
        "clients": 2,
        "grid": {"seed": [0, 1]},
    },
    "property": {
        "property": "smoker == 'yes'",
        "classes": [2],
        "losses": ["nll", "sor"],
        "models_per_class": 12,
        "rows_per_model": 20,
        "pools": "shared",
    },
    "vertical": {"people": 20, "batch_sizes": [3, 4], "trials": 2, "grid": {"seed": [0, 1]}},
    "training": {
        "guests": 2,
        "rows": 80,
        "designs": ["tabvfl", "tabvfl_without_fc"],
        "latent": 2,
        "pretraining": 1,
        "finetuning": 2,
        "batch_size": 16,
        "runs": 2,
        "evaluate": False,
        "privacy": True,
    },
    "parties": {
        "guests": 2,
        "rows": 80,
        "designs": ["tabvfl", "local_encoders"],
        "defenses": ["dp_gradients"],
        "attacks": ["known_rows", "gradient_completion"],
        "known_labels": 3,
        "latent": 2,
        "pretraining": 0,
        "finetuning": 1,
        "batch_size": 16,
        "predictions": 1,
        "runs": 2,
    },
    "cohorts": {
        "clients": 4,
        "rows_each": 1,
        "cohort_sizes": [2],
        "rounds": [1, 2],
        "attacks": ["rows_of_sum:steps=2:restarts=1:start_steps=2:starts=1", "categories_of_sum"],
        "trials": 2,
    },
    "servers": {
        "models": ["mlp:width=80:activation=relu:norm=none"],
        "batch_sizes": [4, 6],
        "attacks": ["codes", "module"],
        "trials": 2,
        "public_rows": 40,
    },
    "updates": {"attacks": ["inverting_gradients:steps=2"], "simulations": 2, "grid": {"seed": [0, 1]}},
}
JUDGED = {study: ["--max-emr", "1"] for study in ("rows", "vertical", "updates", "servers")}
JUDGED["property"] = ["--max-gain", "1"]
JUDGED["training"] = JUDGED["parties"] = JUDGED["property"]
JUDGED["cohorts"] = JUDGED["property"]


@pytest.fixture(scope="module")
def children() -> Any:
    """Processes that have everything loaded, so that kills hit the run and not imports."""
    context = multiprocessing.get_context("forkserver")  # plain forks inherit locks of polars' threads
    context.set_forkserver_preload(["seepage.runs.api", "tests.runs.test_every_study"])
    return context


@pytest.fixture(scope="module")
def cluster() -> Iterator[Backend]:
    """A Dask worker, for all studies: it takes seconds to start."""
    from distributed import LocalCluster

    local: dict[str, Any] = {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0", "protocol": "tcp"}
    with (
        LocalCluster(n_workers=1, threads_per_worker=1, processes=False, **local) as started,  # type: ignore[no-untyped-call]
        open_backend("dask", jobs=1, scheduler=started.scheduler_address, plain_tcp=True) as backend,
    ):
        yield backend


@pytest.fixture(scope="module")
def processes() -> Iterator[Backend]:
    """Two processes, for all studies: each loads torch."""
    with open_backend("local", jobs=2) as backend:
        yield backend


def planned(study: str, folder: Path) -> Plan:
    """The tiny plan of a study, from a file."""
    table = folder / "table.csv"
    if not table.exists():
        cases.frame().write_csv(table)
    file = folder / "plan.toml"
    own = PLANS[study] | ({"capture": cases.captured(folder / "capture", table)} if study == "updates" else {})
    file.write_text(tomli_w.dumps({"study": study, "data": str(table), "target": "target"} | own))
    return make_plan(read_plan(file))


def numbers(folder: Path) -> pl.DataFrame:
    """All records of a run, but for what a clock or the memory says."""
    frame = Run(folder).frame().drop("seconds").collect()
    frame = frame.filter(~pl.col("metric").fill_null("").is_in(["seconds", "memory_mb"]))
    return frame.sort(frame.columns)


@pytest.fixture(scope="module", params=SETTINGS)
def undisturbed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """A study's run that nothing happened to."""
    folder = tmp_path_factory.mktemp(request.param)
    plan = planned(request.param, folder)
    run(plan, out=folder / "whole", command="seepage audit --plan plan.toml")
    return request.param, folder


def _run_in_child(plan: Plan, folder: Path) -> None:
    run(plan, out=folder, command="")


def test_every_study_has_a_tiny_plan() -> None:
    assert PLANS.keys() == SETTINGS.keys()


def test_a_plan_file_makes_the_same_tasks_every_time(undisturbed: tuple[str, Path]) -> None:
    study, folder = undisturbed
    one, other = planned(study, folder), planned(study, folder)
    assert one.fingerprint == other.fingerprint
    assert len({task.id for task in one.tasks}) == len(one.tasks) > 1
    for command in (["plan", "validate"], ["plan", "show", "--probe", "0"]):
        done = CliRunner().invoke(app, [*command, str(folder / "plan.toml")], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        assert f"{len(one.tasks)} tasks" in done.output


def test_killed_at_any_moment_a_run_ends_as_if_it_had_not_been(
    undisturbed: tuple[str, Path], tmp_path: Path, children: Any
) -> None:
    study, folder = undisturbed
    plan = planned(study, folder)
    began = time.monotonic()
    run(plan, out=tmp_path / "timed", command="")
    whole = time.monotonic() - began
    moments, kills, tries = random.Random(study), 0, 0
    while kills < 2 and tries < 30:
        tries += 1
        child = children.Process(target=_run_in_child, args=(plan, tmp_path / "run"))
        child.start()
        child.join(moments.uniform(0.05, 0.5) * whole)
        if child.is_alive():
            assert child.pid is not None
            os.kill(child.pid, signal.SIGKILL)
            kills += 1
        elif child.exitcode == 0:  # it got through: begin anew
            (tmp_path / "run").rename(tmp_path / f"run-{tries}")
        child.join()
    assert kills == 2
    run(plan, out=tmp_path / "run", command="")
    assert numbers(tmp_path / "run").equals(numbers(folder / "whole"))
    assert not (tmp_path / "run" / "work").exists()


def test_a_finished_run_is_not_run_again(undisturbed: tuple[str, Path]) -> None:
    study, folder = undisturbed
    before = {path: path.stat().st_mtime_ns for path in (folder / "whole" / "records").iterdir()}
    summary = run(planned(study, folder), out=folder / "whole", command="")
    assert before == {path: path.stat().st_mtime_ns for path in (folder / "whole" / "records").iterdir()}
    assert summary.cells == read_summary(Run.open(folder / "whole")).cells


def test_damage_is_named_set_aside_and_mended(undisturbed: tuple[str, Path], tmp_path: Path) -> None:
    study, folder = undisturbed
    plan = planned(study, folder)
    run(plan, out=tmp_path / "run", command="")
    stored = [path for name in ("records", "files") for path in (tmp_path / "run" / name).glob("*")]
    spoilt = random.Random(1).sample(stored, 2)
    for path in spoilt:
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1
        path.write_bytes(content)
    run(plan, out=tmp_path / "run", command="")
    assert set(Run(tmp_path / "run").damaged()) == {path.name for path in spoilt}
    assert numbers(tmp_path / "run").equals(numbers(folder / "whole"))


def test_processes_and_clusters_give_the_same_numbers(
    undisturbed: tuple[str, Path], tmp_path: Path, cluster: Backend, processes: Backend
) -> None:
    study, folder = undisturbed
    plan = planned(study, folder)
    cluster.shared = True
    run(plan, out=tmp_path / "near", command="", backend=cluster)
    cluster.shared = False  # as if the workers were elsewhere: records come back with the task
    run(plan, out=tmp_path / "far", command="", backend=cluster)
    expected = numbers(folder / "whole")
    assert numbers(tmp_path / "near").equals(expected)
    assert numbers(tmp_path / "far").equals(expected)
    summary = run(plan, out=tmp_path / "processes", command="", backend=processes)
    assert not summary.not_run
    assert numbers(tmp_path / "processes").equals(expected)


def test_a_task_that_is_claimed_is_left_to_its_runner(undisturbed: tuple[str, Path], tmp_path: Path) -> None:
    study, folder = undisturbed
    plan = planned(study, folder)
    sources = open_sources(plan)
    store = Run.open_or_create(tmp_path / "run", head_of(plan, sources, ""))
    with store.claimed(plan.tasks[0].id) as first, store.claimed(plan.tasks[0].id) as second:
        assert (first, second) == (True, False)
    finished, _ = run_here(plan, store, sources)
    assert all(store.finished(name) == done for name, done in finished.items())


def test_versions_command_and_the_digest_of_the_table_are_kept(undisturbed: tuple[str, Path]) -> None:
    _, folder = undisturbed
    head = json.loads((folder / "whole" / "run.json").read_text())
    assert {"seepage", "torch", "numpy", "polars", "python"} <= set(head["versions"])
    assert head["command"] == "seepage audit --plan plan.toml"
    for task in (folder / "whole" / "tasks").glob("*.json"):
        assert json.loads(task.read_text())["versions"] == head["versions"]
    summary = read_summary(Run.open(folder / "whole"))
    assert summary.versions == head["versions"]
    assert head["tables"] == [f"{summary.dataset.name} {summary.dataset.digest}"]
    assert summary.threat_model.adversary


def test_a_table_that_has_changed_is_refused(undisturbed: tuple[str, Path], tmp_path: Path) -> None:
    study, _ = undisturbed
    run(planned(study, tmp_path), out=tmp_path / "run", command="")
    cases.frame(rows=110).write_csv(tmp_path / "table.csv")
    with pytest.raises(InputError, match="a table has changed since"):
        run(planned(study, tmp_path), out=tmp_path / "run", command="")


def test_gate_compare_export_and_report_read_it(undisturbed: tuple[str, Path], tmp_path: Path) -> None:
    study, folder = undisturbed
    whole = str(folder / "whole")

    def done(*words: str) -> str:
        result = CliRunner().invoke(app, list(words), catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return result.output

    judged = done("gate", "--run", whole, *JUDGED[study], "--accept-weak")
    assert "0 above the limits, too weakly attacked or not measured" in judged
    done("compare", whole, whole)
    for what in ("cells", "records"):
        done("export", whole, str(tmp_path / f"{what}.csv"), "--what", what)
        assert pl.read_csv(tmp_path / f"{what}.csv", infer_schema_length=None).height > 1
    done("report", whole)
    assert (folder / "whole" / "report.html").stat().st_size > 100


def stopped(folder: Path, copy: Path, tasks: int = 1) -> Path:
    """The run as a kill leaves it: without its summary, and without some of its last tasks and their records."""
    shutil.copytree(folder / "whole", copy, ignore=shutil.ignore_patterns("summary.json", "report.html"))
    last = [task.id for task in planned(read_summary(Run(folder / "whole")).study, folder).tasks][-tasks:]
    for task in last:
        done = TaskDone.model_validate_json(Run(copy).read(f"tasks/{task}.json"))
        (copy / "tasks" / f"{task}.json").unlink()
        (copy / "records" / f"{list(done.records)[-1]}.parquet").unlink()
    return copy


def test_what_is_there_of_a_stopped_run_is_read_as_in_a_whole_one(
    undisturbed: tuple[str, Path], tmp_path: Path
) -> None:
    study, folder = undisturbed
    whole, found = read_summary(Run(folder / "whole")), read_summary(Run(stopped(folder, tmp_path / "run")))
    tasks = len(planned(study, folder).tasks)
    assert found.unfinished is not None
    assert (found.unfinished.tasks, found.unfinished.tasks_done) == (tasks, tasks - 1)
    known = {cell.id: cell for cell in whole.cells}
    unchanged = [cell for cell in found.cells if cell.trials == known[cell.id].trials]
    assert unchanged
    assert all(cell.metrics == known[cell.id].metrics for cell in unchanged)
    assert [entry.state for entry in found.not_run] == ["missing"]
    assert found.dataset == whole.dataset
    assert found.not_tested == whole.not_tested
    (tmp_path / "run" / "outline.json").unlink()
    with pytest.raises(InputError, match="nothing in it can be read yet"):
        read_summary(Run(tmp_path / "run"))


def test_every_command_works_on_a_stopped_run_and_says_what_is_missing(
    undisturbed: tuple[str, Path], tmp_path: Path
) -> None:
    study, folder = undisturbed
    part = str(stopped(folder, tmp_path / "run"))
    commands = {
        "report": ["report", part],
        "compare": ["compare", part, str(folder / "whole")],
        "gate": ["gate", "--run", part, *JUDGED[study]],
        "cells": ["export", part, str(tmp_path / "cells.csv")],
        "records": ["export", part, str(tmp_path / "records.csv"), "--what", "records"],
    }
    for name, words in commands.items():
        done = CliRunner().invoke(app, words, catch_exceptions=False)
        assert done.exit_code == (1 if name == "gate" else 0), done.output  # a gate never forgives what is missing
        assert "The run is not finished" in done.stderr, name
        assert "Missing: " in done.stderr
    assert "The run is not finished" in (tmp_path / "run" / "report.html").read_text()
    assert run_state(tmp_path / "run").readable


def test_a_limit_that_a_study_cannot_judge_is_refused(undisturbed: tuple[str, Path]) -> None:
    study, folder = undisturbed
    if study in ("rows", "vertical", "updates", "servers"):
        result = CliRunner().invoke(app, ["gate", "--run", str(folder / "whole"), "--max-emr", "0", "--max-gain", "0"])
        assert result.exit_code == 1  # both can be judged, and so few trials show no zero
        assert "above the limits" in result.output
        return
    with pytest.raises(InputError, match=f"The study {study} has no rows read nearly to judge"):
        CliRunner().invoke(app, ["gate", "--run", str(folder / "whole"), "--max-emr", "0"], catch_exceptions=False)
