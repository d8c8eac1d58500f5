"""One worker killed in the middle of a run; `make fault-tests` kills two hundred, of all studies, on Dask too."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from seepage.runs import run
from seepage.runs.backends import open_backend
from tests.faults.workers import workers
from tests.runs.test_every_study import numbers, planned


def test_a_worker_that_is_killed_changes_no_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seepage.runs.backends.cores", lambda: 1)  # one thread, as in this process
    plan = planned("rows", tmp_path)
    run(plan, out=tmp_path / "whole", command="")
    killed: list[int] = []

    def kill(label: str, done: int, total: int, note: str = "") -> None:
        if not killed and note.startswith("1 running"):
            killed.extend(workers())
            os.kill(killed[0], signal.SIGKILL)

    with open_backend("local", jobs=1) as backend:
        summary = run(plan, out=tmp_path / "run", command="", backend=backend, progress=kill)
    assert len(killed) == 1
    assert not summary.not_run
    assert numbers(tmp_path / "run").equals(numbers(tmp_path / "whole"))
