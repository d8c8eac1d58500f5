"""Runs a plan: tasks that are not finished go to a backend, and what comes back is kept in the run folder."""

from __future__ import annotations

import time
import traceback
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from seepage._core import DiskFull, InputError, Progress, SeepageError, silent
from seepage.runs.backends import Backend
from seepage.runs.plan import Plan, Task
from seepage.data.source import Source
from seepage.runs.task import Done, Folder, Memory, run_task
from seepage.results import Run

ATTEMPTS = 3  # at a task whose worker died
PATIENCE = 0.5  # seconds between looks at what another runner is doing


def run_here(
    plan: Plan, run: Run | None, sources: Sequence[Source], progress: Progress = silent, *, strict: bool = True
) -> tuple[list[dict[str, Any]], Memory]:
    """All tasks one after the other in this process: what an audit of one table does.

    Args:
        strict: stop at a task that cannot be run; else note why and go on.
    """
    documents, memory = [], Memory()
    for task in plan.tasks:
        with _turn(run, task):
            document = run.finished(task.id, claimed=True) if run is not None else None
            if document is None:
                folder = str(run.path) if run is not None else None
                done = run_task(task, folder, sources[task.place], progress)
                document = done.document
                if "reason" in document and strict:
                    raise InputError(str(document["reason"]))
                if run is not None:
                    run.finish(task.id, document)
                if done.memory is not None:
                    memory.records |= done.memory.records
                    memory.revealed |= done.memory.revealed
        documents.append(document)
    return documents, memory


@contextmanager
def _turn(run: Run | None, task: Task) -> Iterator[None]:
    """While nobody else works on the task: another runner on the same folder is waited for."""
    while run is not None:
        with run.claimed(task.id) as mine:
            if mine:
                yield
                return
        time.sleep(PATIENCE)
    yield


@dataclass
class _Work:
    """A task at a worker."""

    task: Task
    claim: ExitStack
    alone: bool


def run_plan(plan: Plan, run: Run, backend: Backend, progress: Progress = silent) -> list[dict[str, Any]]:
    """All tasks that are not finished, on a backend; returns what is known of every task.

    Another runner on the same folder takes other tasks. A task whose worker dies is given to another one; one that
    stops with an internal error is kept with its traceback, and the others go on.
    """
    tasks = plan.tasks
    documents = {task.id: document for task in tasks if (document := run.finished(task.id)) is not None}
    waiting = deque(task for task in tasks if task.id not in documents)
    elsewhere: deque[Task] = deque()
    suspects: deque[Task] = (
        deque()
    )  # a worker died while they ran: one at a time, so that it is known whose fault it is
    running: dict[Future[Done], _Work] = {}
    deaths: Counter[str] = Counter()
    folder = str(run.path.resolve()) if backend.shared else None
    begin = partial(run_task, base=str(Path.cwd()))

    def tell() -> None:
        failed = sum("reason" in document or "error" in document for document in documents.values())
        note = f"{len(running)} running" + (f", {failed} not run" if failed else "")
        progress("training runs", len(documents), len(tasks), note)

    def start(task: Task, alone: bool) -> None:
        claim = ExitStack()
        if not claim.enter_context(run.claimed(task.id)):
            claim.close()
            elsewhere.append(task)
        elif (document := run.finished(task.id, claimed=True)) is not None:  # another runner was faster
            claim.close()
            documents[task.id] = document
        else:
            running[backend.submit(begin, task, folder)] = _Work(task, claim, alone)

    tell()
    try:
        while waiting or running or elsewhere or suspects:
            while waiting and not suspects and len(running) < backend.slots:
                start(waiting.popleft(), backend.slots == 1)
            if suspects and not running:
                start(suspects.popleft(), True)
            tell()
            if not running:
                time.sleep(PATIENCE if elsewhere and not waiting else 0)
                waiting, elsewhere = deque([*waiting, *elsewhere]), deque()
                continue
            for future in wait(running, timeout=PATIENCE, return_when=FIRST_COMPLETED).done:
                work = running.pop(future)
                task, error = work.task, future.exception()
                if isinstance(error, DiskFull):  # the run stops, and can go on later
                    work.claim.close()
                    raise error
                if error is not None and backend.died(error):
                    deaths[task.id] += work.alone
                if error is not None and backend.died(error) and deaths[task.id] < ATTEMPTS:
                    suspects.append(task)
                else:
                    documents[task.id] = _kept(run, task, future.result() if error is None else _broken(task, error))
                work.claim.close()
    finally:
        for work in running.values():
            work.claim.close()
    return [documents[task.id] for task in tasks]


def _kept(run: Run, task: Task, done: Done) -> dict[str, Any]:
    """Store what came back, records first."""
    document = done.document
    if done.memory is not None:
        sink = Folder(run)
        for cell, records in done.memory.records.items():
            sink.add(records, done.memory.revealed[cell])
        document = document | {"records": sink.digests}
    if "error" in document:  # one that broke is tried again when the run goes on
        run.broke(task.id, document.pop("trace"))
    else:
        run.finish(task.id, document)
    return document


def _broken(task: Task, error: BaseException) -> Done:
    said = str(error) if isinstance(error, SeepageError) else f"{type(error).__name__}: {error}"
    lines = traceback.format_exception(error)
    return Done({"task": task.id, "error": said, "trace": "".join(lines), "cells": []})
