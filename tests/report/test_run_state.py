"""How far runs are, whatever their study and whoever wrote their folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from seepage.report.run_state import reasons, run_state, run_states
from seepage.results import Run, Summary, TaskDone
from seepage.results.store import STORE_VERSION
from tests.report.example import a_cell, every_study, plain, records_of


def begun(folder: Path, study: str, tasks: int = 4) -> Run:
    head = {"store_version": STORE_VERSION, "study": study, "dataset": "clinic", "tasks": tasks, "command": "seepage x"}
    return Run.create(folder, head | {"created": "2031-05-06T07:08:09+00:00"})


@pytest.mark.parametrize(("study", "summary"), every_study().items())
def test_tasks_finished_of_all_for_every_study(tmp_path: Path, study: str, summary: Summary) -> None:
    run = begun(tmp_path / "run", study)
    assert plain(run_state(run.path).progress) == "0 of 4 tasks finished"
    run.finish(TaskDone(task="one"))
    run.add(records_of(a_cell(), 2))
    state = run_state(run.path)
    assert (state.study, state.dataset, state.begun) == (study, "clinic", "2031-05-06 07:08:09 UTC")
    assert (plain(state.progress), state.done, state.cells, state.finished) == ("1 of 4 tasks finished", 1, 1, False)
    run.write("summary.json", summary.to_json())
    assert run_state(run.path).progress == "finished"


def test_the_newest_comes_first(tmp_path: Path) -> None:
    for name in ("old", "new"):
        begun(tmp_path / name, "rows")
    (tmp_path / "no run").mkdir()
    os.utime(tmp_path / "old" / "run.json", (1, 1))
    assert [state.name for state in run_states(tmp_path)] == ["new", "old"]


STRANGE = {
    "a list": (b"[1]", "does not hold what a run begins with"),
    "bytes": (b"\xff", "is not valid JSON"),
    "an earlier form": (b'{"kind": "property"}', "written by an earlier version of Seepage"),
}


@pytest.mark.parametrize(("content", "problem"), STRANGE.values(), ids=STRANGE)
def test_a_strange_folder_says_what_is_wrong(tmp_path: Path, content: bytes, problem: str) -> None:
    (tmp_path / "run.json").write_bytes(content)
    state = run_state(tmp_path)
    assert problem in state.problem
    assert state.progress == "cannot be read"


def test_a_head_with_other_types_is_only_strange(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_bytes(b'{"settings": [1], "tasks": "many", "study": 3}')
    state = run_state(tmp_path)
    assert (state.study, state.tasks, state.progress) == ("3", None, "not finished")


def test_why_tasks_could_not_be_run(tmp_path: Path) -> None:
    run = begun(tmp_path / "run", "rows")
    for name in ("one", "two"):
        run.finish(TaskDone(task=name, reason="A client has 40 rows."))
    run.finish(TaskDone(task="three", records={"a" * 12: "b" * 8}))
    (run.path / "tasks" / "cut.json").write_bytes(b'{"task"')
    assert reasons(run.path) == ["A client has 40 rows."]
