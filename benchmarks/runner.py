"""What the runner of plans costs beside the work itself, here and on Dask.

The task: a plan of trainings that take about a second each, run by two local workers and by a Dask cluster with two
workers on the loopback. `overhead` is the share of the workers' time in which no task ran, once they were there;
`dask_ratio` is Dask's throughput beside the local one; `syncing` is the share of a run in one process that goes by
while files and folders are synced to the disk. The limits we keep: 0.05, 0.9 and 0.02. `ratio` is the local throughput
beside a plain loop in one process.

    python benchmarks/runner.py [--quick] --json
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import torch

from seepage._core import files
from seepage.results import Run
from seepage.runs import Plan, make_plan, open_sources
from seepage.runs.backends import open_backend
from seepage.runs.plan import Task
from seepage.runs.sweep import run_here, run_plan
from seepage.runs.task import run_task
from store import Timed

WORKERS = 2


def a_plan(tasks: int) -> Plan:
    """Trainings that differ in their seed alone."""
    return make_plan(
        {
            "data": "clinic", "model": "mlp", "batch_sizes": [8], "attack": "inverting_gradients:steps=150",
            "attack_points": ["initialized"], "exposure": 0, "clients": 2, "trials": 2,
            "grid": {"seed": list(range(tasks))},
        }
    )  # fmt: skip


def warmed(backend: Any, plan: Plan) -> None:
    """Imports and the table are loaded once in every worker; they are not what is measured."""
    tasks = [backend.submit(run_task, plan.tasks[0], None) for _ in range(2 * WORKERS)]
    for task in tasks:
        task.result()


def timed(name: str, plan: Plan, folder: Path) -> tuple[float, float]:
    """Seconds of the whole, and seconds that tasks took."""
    with open_backend(name, jobs=WORKERS) as backend:
        warmed(backend, plan)
        run = Run.create(folder, {"plan": plan.fingerprint})
        begin = time.perf_counter()
        finished = run_plan(plan, run, backend)
        return time.perf_counter() - begin, sum(done.seconds for done in finished.values())


def syncing(plan: Plan, folder: Path) -> float:
    """The share of a run that waits for the disk."""
    torch.set_num_threads(1)
    sources = open_sources(plan)
    run = Run.create(folder, {"plan": plan.fingerprint})
    files.disk, before = Timed(), files.disk
    try:
        begin = time.perf_counter()
        run_here(plan, run, sources)
        return files.disk.seconds / (time.perf_counter() - begin)  # type: ignore[attr-defined]
    finally:
        files.disk = before


def plain(tasks: list[Task]) -> float:
    """Seconds a task takes in a loop, in this process, on one thread."""
    torch.set_num_threads(1)
    run_task(tasks[0], None)
    begin = time.perf_counter()
    for task in tasks:
        run_task(task, None)
    return (time.perf_counter() - begin) / len(tasks)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="8 trainings instead of 40")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    count = 8 if arguments.quick else 40
    plan = a_plan(count)
    with tempfile.TemporaryDirectory() as folder:
        local, busy = timed("local", plan, Path(folder) / "local")
        dask, _ = timed("dask", plan, Path(folder) / "dask")
        synced = syncing(plan, Path(folder) / "synced")
    alone = plain(plan.tasks[:4])
    found = {
        "overhead": round(1 - busy / (WORKERS * local), 4),
        "dask_ratio": round(local / dask, 3),
        "syncing": round(synced, 4),
        "ratio": round(alone * count / local, 2),
        "seconds_per_task": round(busy / count, 2),
        "settings": {"tasks": count, "workers": WORKERS},
    }
    print(json.dumps(found, indent=None if arguments.json else 2))


if __name__ == "__main__":
    main()
