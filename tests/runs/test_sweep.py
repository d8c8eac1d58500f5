"""Plans with grids: run in processes, on a cluster, killed at any moment, by two runners at once."""

from __future__ import annotations

import multiprocessing
import os
import resource
import signal
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from seepage._core import InputError
from seepage.results import Run
from seepage.runs import Plan, make_plan, open_sources, run
from seepage.runs.api import head_of
from seepage.runs.backends import Local, cores, open_backend
from seepage.runs.gathering import gather
from seepage.runs.plan import Task
from seepage.runs.sweep import run_plan
from seepage.runs.task import Done, run_task
from tests import cases

SMALL: dict[str, Any] = {
    "target": "target",
    "model": "linear",
    "batch_sizes": [2, 3],
    "attack": "inverting_gradients",
    "attack_points": ["initialized"],
    "attack_options": {"steps": "2"},
    "exposure": 0,
    "trials": 2,
    "clients": 2,
}
GRID = SMALL | {"grid": {"labels_known": [True, False], "seed": [0, 1]}}


def a_plan(folder: Path, values: dict[str, Any] = GRID) -> Plan:
    """Eight trainings of a tiny table."""
    table = folder / "table.csv"
    if not table.exists():
        cases.frame().write_csv(table)
    return make_plan({"data": str(table)} | values)


def numbers(folder: Path) -> pl.DataFrame:
    """All records of a run, but for how long they took."""
    frame = Run(folder).frame().drop("seconds").collect()
    return frame.sort(frame.columns)


def undisturbed(folder: Path, plan: Plan) -> pl.DataFrame:
    run(plan, out=folder / "whole", command="")
    return numbers(folder / "whole")


HEAD = {"name": "run", "command": ""}


def opened(folder: Path, plan: Plan) -> Run:
    """A run folder for a plan."""
    return Run.open_or_create(folder, head_of(plan, open_sources(plan), ""))


class Here:
    """A backend that runs tasks at once: what is tested is the runner."""

    slots, shared = 2, True

    def submit(self, work: Any, *arguments: Any) -> Any:
        from concurrent.futures import Future

        future: Future[Any] = Future()
        try:
            future.set_result(work(*arguments))
        except (ZeroDivisionError, ChildProcessError) as error:
            future.set_exception(error)
        return future

    def died(self, error: BaseException) -> bool:
        return isinstance(error, ChildProcessError)

    def lost(self) -> str:
        return ""


def test_a_grid_is_every_combination_and_cells_say_what_differs(tmp_path: Path) -> None:
    plan = a_plan(tmp_path)
    assert len(plan.tasks) == 8
    summary = run(plan, out=tmp_path / "run", command="", backend=Here())
    assert {cell.variant for cell in summary.cells} == {
        f"labels_known={known}, seed={seed}" for known in ("true", "false") for seed in (0, 1)
    }
    assert len({cell.id for cell in summary.cells}) == len(summary.cells) == 8
    assert [entry.settings for entry in summary.variants][1] == {"seed": 1}
    alone = run(a_plan(tmp_path, SMALL | {"seed": 1}), out=None, command="")
    (same,) = [c for c in summary.cells if c.variant == "labels_known=true, seed=1" and c.batch_size == 2]
    assert alone.cells[0].metrics == same.metrics  # a cell of a grid is the audit of its settings


def test_cases_have_names_and_several_tables_stand_side_by_side(tmp_path: Path) -> None:
    cases.frame().write_csv(tmp_path / "other.csv")
    values = SMALL | {
        "batch_sizes": [2],
        "cases": [{"name": "one"}, {"name": "two", "data": str(tmp_path / "other.csv"), "trials": 1}],
    }
    summary = run(a_plan(tmp_path, values), out=None, command="")
    assert [(c.dataset, c.variant, c.trials) for c in summary.cells] == [
        ("table", "one", 2),
        ("other", "two", 1),
    ]
    assert summary.dataset.name == "table, other"


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ({"grid": {"sed": [1]}}, "Did you mean 'seed'"),
        ({"grid": {"seed": 1}}, "must be a list of values"),
        ({"grid": {"seed": []}}, "must be a list of values"),
        ({"grid": [1]}, "'grid' is a table"),
        ({"cases": [{"trails": 1}]}, "Did you mean 'trials'"),
        ({"cases": {"seed": 1}}, "'cases' are tables"),
        ({"cases": [{"name": "a"}, {"name": "a"}]}, "test the same thing"),
        ({"grid": {"seed": ["x"]}}, "must be a whole number"),
    ],
)
def test_a_wrong_grid_is_one_sentence(tmp_path: Path, more: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        a_plan(tmp_path, SMALL | more)


def test_the_same_plan_has_the_same_ids_and_another_has_others(tmp_path: Path) -> None:
    plan, again, other = a_plan(tmp_path), a_plan(tmp_path), a_plan(tmp_path, GRID | {"trials": 1})
    assert [task.id for task in plan.tasks] == [task.id for task in again.tasks]
    assert not {task.id for task in plan.tasks} & {task.id for task in other.tasks}
    run(plan, out=tmp_path / "run", command="", backend=Here())
    with pytest.raises(InputError, match="other settings"):
        run(other, out=tmp_path / "run", command="", backend=Here())


def test_an_impossible_cell_is_told_and_the_others_run(tmp_path: Path) -> None:
    plan = a_plan(tmp_path, SMALL | {"batch_sizes": [2, 500]})
    summary = run(plan, out=tmp_path / "run", command="", backend=Here(), strict=False)
    assert [cell.batch_size for cell in summary.cells] == [2]
    (missing,) = summary.not_run
    assert "batch 500" in missing.what
    assert missing.state == "impossible"


def test_an_internal_error_keeps_its_traceback_and_is_tried_again(tmp_path: Path, monkeypatch: Any) -> None:
    broken = a_plan(tmp_path).tasks[0].id

    def breaks(task: Task, *rest: Any, **named: Any) -> Done:
        if task.id == broken:
            raise ZeroDivisionError("a bug")
        return run_task(task, *rest, **named)

    monkeypatch.setattr("seepage.runs.sweep.run_task", breaks)
    plan = a_plan(tmp_path)
    folder = opened(tmp_path / "run", plan)
    done = list(run_plan(plan, folder, Here()).values())
    assert done[0].error.startswith("ZeroDivisionError in test_sweep.py, line")
    assert "a bug" not in done[0].error  # a message may hold a cell of the table
    kept = (folder.path / "errors" / f"{broken}.txt").read_text()
    assert "in breaks" in kept
    assert kept.splitlines()[-1].startswith("ZeroDivisionError (its message may quote a cell")
    assert folder.errors() == [broken]
    assert all(each.records for each in done[1:])
    summary = gather(plan, open_sources(plan), {each.task: each for each in done}, folder.trials, folder.revealed, HEAD)
    assert [each.state for each in summary.not_run] == ["crashed"]
    monkeypatch.undo()
    assert run_plan(plan, folder, Here())[broken].records
    assert folder.errors() == []


@pytest.fixture(scope="module")
def children() -> Any:
    """Processes that have everything loaded, so that kills hit the run and not imports."""
    context = multiprocessing.get_context("forkserver")  # plain forks inherit locks of polars' threads
    context.set_forkserver_preload(["seepage.runs", "tests.runs.test_sweep"])
    return context


def _run_in_child(plan: Plan, folder: Path) -> None:
    run(plan, out=folder, command="")


def _run_with_little_room(plan: Plan, folder: Path) -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (6_000, 6_000))  # the system says so as a full disk does
    try:
        run(plan, out=folder, command="")
    except InputError as error:
        os._exit(7 if "disk is full" in str(error) and "continue with --out" in str(error) else 8)


def test_a_damaged_file_is_set_aside_named_and_its_cell_run_again(tmp_path: Path) -> None:
    plan = a_plan(tmp_path)
    expected = undisturbed(tmp_path, plan)
    files = sorted((tmp_path / "whole" / "records").iterdir())
    files[0].write_bytes(files[0].read_bytes()[:-40])
    files[1].write_bytes(b"nonsense")
    files[2].unlink()
    task = next((tmp_path / "whole" / "tasks").glob("*.json"))
    task.write_text("{")
    run(plan, out=tmp_path / "whole", command="")
    assert Run(tmp_path / "whole").damaged() == sorted([files[0].name, files[1].name, task.name])
    assert numbers(tmp_path / "whole").equals(expected)


def test_a_damaged_record_of_a_training_that_was_not_finished_is_run_again(tmp_path: Path) -> None:
    plan = a_plan(tmp_path, SMALL)
    expected = undisturbed(tmp_path, plan)
    file = min((tmp_path / "whole" / "records").iterdir())
    for task in (tmp_path / "whole" / "tasks").glob("*.json"):
        task.unlink()
    content = bytearray(file.read_bytes())
    content[len(content) // 3] ^= 1
    file.write_bytes(content)
    run(plan, out=tmp_path / "whole", command="")
    assert Run(tmp_path / "whole").damaged() == [file.name]
    assert numbers(tmp_path / "whole").equals(expected)


def test_a_run_that_was_stopped_before_its_first_file_goes_on(tmp_path: Path) -> None:
    (tmp_path / "run" / "records").mkdir(parents=True)
    (tmp_path / "run" / ".run.json.7.tmp").write_text("{")
    assert run(a_plan(tmp_path, SMALL), out=tmp_path / "run", command="").cells
    (tmp_path / "other" / "records").mkdir(parents=True)
    (tmp_path / "other" / "letter.txt").write_text("")
    with pytest.raises(InputError, match="holds other files"):
        run(a_plan(tmp_path, SMALL), out=tmp_path / "other", command="")


def test_a_table_that_has_changed_is_not_taken_for_the_old_one(tmp_path: Path) -> None:
    plan = a_plan(tmp_path, SMALL)
    run(plan, out=tmp_path / "run", command="")
    cases.frame().reverse().write_csv(tmp_path / "table.csv")
    with pytest.raises(InputError, match="a table has changed since"):
        run(a_plan(tmp_path, SMALL), out=tmp_path / "run", command="")


def test_two_files_of_one_name_are_not_mixed_up(tmp_path: Path) -> None:
    for folder, rows in (("a", 120), ("b", 90)):
        (tmp_path / folder).mkdir()
        cases.frame(rows=rows).write_csv(tmp_path / folder / "people.csv")
    files = [str(tmp_path / folder / "people.csv") for folder in ("a", "b")]
    with pytest.raises(InputError, match="both called 'people'"):
        open_sources(make_plan(SMALL | {"data": None, "grid": {"data": files}}))
    named = [{"name": name, "data": file} for name, file in zip("ab", files, strict=True)]
    assert len(open_sources(make_plan(SMALL | {"data": None, "cases": named}))) == 2


def test_columns_dealt_to_two_and_to_five_guests_are_told_apart_by_their_cells() -> None:
    plan = make_plan({"study": "training", "data": "clinic", "rows": 60, "grid": {"guests": [2, 5]}})
    few, many = open_sources(plan)
    assert few.name == many.name
    assert few.digest != many.digest


def test_a_worker_in_another_folder_finds_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    cases.frame().write_csv("table.csv")
    task = make_plan({"data": "table.csv"} | SMALL).tasks[0]
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert run_task(task, None, base=str(tmp_path)).task.records
    with pytest.raises(InputError, match="no file"):  # no finished task: it is tried again
        run_task(task, None, base=str(tmp_path / "elsewhere"))


@pytest.mark.slow  # ten seconds, and two runners of a plan share a folder in the test below
def test_two_ordinary_audits_on_one_folder_do_not_spoil_it(tmp_path: Path, children: Any) -> None:
    plan = a_plan(tmp_path, SMALL | {"batch_sizes": [2, 3, 4]})
    both = [children.Process(target=_run_in_child, args=(plan, tmp_path / "run")) for _ in range(2)]
    for child in both:
        child.start()
    for child in both:
        child.join(120)
        assert child.exitcode == 0
    run(plan, out=tmp_path / "run", command="")
    assert Run(tmp_path / "run").damaged() == []


def test_two_runners_on_one_folder_share_the_work(tmp_path: Path, children: Any) -> None:
    plan = a_plan(tmp_path)
    expected = undisturbed(tmp_path, plan)
    folder = opened(tmp_path / "run", plan)
    both = [children.Process(target=run_plan, args=(plan, folder, Here())) for _ in range(2)]
    for child in both:
        child.start()
    for child in both:
        child.join(120)
        assert child.exitcode == 0
    assert numbers(tmp_path / "run").equals(expected)
    with folder.claimed("a") as first, folder.claimed("a") as second:
        assert (first, second) == (True, False)


def test_a_full_disk_is_one_line_and_the_run_goes_on_later(tmp_path: Path, children: Any) -> None:
    plan = a_plan(tmp_path)
    expected = undisturbed(tmp_path, plan)
    child = children.Process(target=_run_with_little_room, args=(plan, tmp_path / "run"))
    child.start()
    child.join(120)
    assert child.exitcode == 7
    run(plan, out=tmp_path / "run", command="")
    assert numbers(tmp_path / "run").equals(expected)


def test_processes_do_not_ask_for_more_cores_than_there_are() -> None:
    with open_backend("local", jobs=1) as backend:
        assert backend.submit(_threads).result() <= cores()


def _threads() -> int:
    import torch

    return torch.get_num_threads()


def test_a_worker_that_dies_is_replaced_and_its_task_run_again(tmp_path: Path) -> None:
    with open_backend("local", jobs=1) as backend:
        assert isinstance(backend, Local)
        first = backend.submit(_die_once, str(tmp_path / "died"))
        error = first.exception(60)
        assert error is not None
        assert backend.died(error)
        assert backend.submit(_die_once, str(tmp_path / "died")).result(60) == "done"


def _die_once(mark: str) -> str:
    if not Path(mark).exists():
        Path(mark).write_text("")
        os.kill(os.getpid(), signal.SIGKILL)
    return "done"


def test_tasks_whose_worker_dies_again_and_again_are_given_up_with_a_reason(tmp_path: Path) -> None:
    class Deadly(Here):
        def submit(self, work: Any, *arguments: Any) -> Any:
            return super().submit(_dead)

    plan = a_plan(tmp_path, SMALL)
    folder = opened(tmp_path / "run", plan)
    done = run_plan(plan, folder, Deadly())
    assert all("ChildProcessError" in each.error for each in done.values())


def test_a_deadly_task_does_not_take_others_with_it(tmp_path: Path) -> None:
    plan = a_plan(tmp_path, SMALL | {"batch_sizes": [2, 3]})
    poison, healthy = plan.tasks
    started: list[str] = []

    class Fragile(Here):
        def submit(self, work: Any, *arguments: Any) -> Any:
            started.append(arguments[0].id)
            together = len(started) <= 2  # the first two run at once: the pool breaks for both
            return super().submit(_dead) if together or started[-1] == poison.id else super().submit(work, *arguments)

    folder = opened(tmp_path / "run", plan)
    first, second = run_plan(plan, folder, Fragile()).values()
    assert "ChildProcessError" in first.error
    assert second.records
    assert started.count(poison.id) == 4
    assert started.count(healthy.id) == 2


def _dead() -> None:
    raise ChildProcessError("gone")


def test_a_plan_on_a_dask_cluster_gives_the_same_numbers(tmp_path: Path) -> None:
    plan = a_plan(tmp_path, SMALL)
    expected = undisturbed(tmp_path, plan)
    from distributed import LocalCluster

    local: dict[str, Any] = {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0", "protocol": "tcp"}
    with (
        LocalCluster(n_workers=1, threads_per_worker=2, processes=False, **local) as cluster,  # type: ignore[no-untyped-call]
        open_backend("dask", jobs=1, scheduler=cluster.scheduler_address, plain_tcp=True) as backend,
    ):
        assert (backend.slots, backend.shared) == (2, True)
        run(plan, out=tmp_path / "run", command="", backend=backend)
        backend.shared = False  # as if the workers were elsewhere: records come back with the task
        run(plan, out=tmp_path / "far", command="", backend=backend)
    assert numbers(tmp_path / "run").equals(expected)
    assert numbers(tmp_path / "far").equals(expected)


@pytest.mark.parametrize(
    ("name", "scheduler", "sentence"),
    [
        ("dusk", None, "Did you mean 'dask'"),
        ("local", "tcp://127.0.0.1:1", "belongs to the backend dask"),
        ("dask", "tcp://127.0.0.1:1", "No Dask scheduler answers at tcp://127.0.0.1:1"),
    ],
)
def test_a_backend_that_is_not_there(name: str, scheduler: str | None, sentence: str, monkeypatch: Any) -> None:
    monkeypatch.setattr("seepage.runs.cluster.SECONDS", 1.0)
    opening = open_backend(name, jobs=1, scheduler=scheduler, plain_tcp=scheduler is not None)
    with pytest.raises(InputError, match=sentence), opening:
        pass


def test_tables_are_opened_once(tmp_path: Path) -> None:
    opened = open_sources(a_plan(tmp_path))
    assert all(source is opened[0] for source in opened)
