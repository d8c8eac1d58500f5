"""Runs a plan: tasks that are not finished go to a backend, and what comes back is kept in the run folder."""

from __future__ import annotations

import time
import traceback
from collections import Counter, deque
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import ExitStack
from typing import Any

from seepage._core import InputError, Progress, silent
from seepage.audit.backends import Backend
from seepage.audit.plan import Plan, Task
from seepage.audit.source import Source
from seepage.audit.task import Done, Folder, Memory, run_task
from seepage.results import Run

ATTEMPTS = 3  # at a task whose worker died
PATIENCE = 0.5  # seconds between looks at what another runner is doing


def run_here(
    plan: Plan, run: Run | None, sources: Sequence[Source], progress: Progress = silent
) -> tuple[list[dict[str, Any]], Memory]:
    """All tasks one after the other in this process: what an audit of one table does."""
    documents, memory = [], Memory()
    for task in plan.tasks:
        document = run.finished(task.id) if run is not None else None
        if document is None:
            folder = str(run.path) if run is not None else None
            done = run_task(task, folder, sources[task.place], progress)
            document = done.document
            if "reason" in document:
                raise InputError(str(document["reason"]))
            if run is not None:
                run.finish(task.id, document)
            if done.memory is not None:
                memory.records |= done.memory.records
                memory.revealed |= done.memory.revealed
        documents.append(document)
    return documents, memory


def run_plan(plan: Plan, run: Run, backend: Backend, progress: Progress = silent) -> list[dict[str, Any]]:
    """All tasks that are not finished, on a backend; returns what is known of every task.

    Another runner on the same folder takes other tasks. A task whose worker dies is given to another one; one that
    stops with an internal error is kept with its traceback, and the others go on.
    """
    tasks = plan.tasks
    documents = {task.id: document for task in tasks if (document := run.finished(task.id)) is not None}
    waiting = deque(task for task in tasks if task.id not in documents)
    elsewhere: deque[Task] = deque()
    running: dict[Future[Done], tuple[Task, ExitStack]] = {}
    attempts: Counter[str] = Counter()

    def tell() -> None:
        failed = sum("reason" in document or "error" in document for document in documents.values())
        note = f"{len(running)} running" + (f", {failed} not run" if failed else "")
        progress("training runs", len(documents), len(tasks), note)

    tell()
    try:
        while waiting or running or elsewhere:
            while waiting and len(running) < backend.slots:
                task = waiting.popleft()
                claim = ExitStack()
                if not claim.enter_context(run.claimed(task.id)):
                    claim.close()
                    elsewhere.append(task)
                elif (document := run.finished(task.id)) is not None:  # another runner was faster
                    claim.close()
                    documents[task.id] = document
                else:
                    folder = str(run.path) if backend.shared else None
                    running[backend.submit(run_task, task, folder)] = task, claim
            tell()
            if not running:
                time.sleep(PATIENCE if elsewhere and not waiting else 0)
                waiting, elsewhere = deque([*waiting, *elsewhere]), deque()
                continue
            for future in wait(running, timeout=PATIENCE, return_when=FIRST_COMPLETED).done:
                task, claim = running.pop(future)
                error = future.exception()
                if error is not None and backend.died(error) and attempts[task.id] + 1 < ATTEMPTS:
                    attempts[task.id] += 1
                    waiting.append(task)
                elif isinstance(error, InputError):  # a full disk, for instance: the run stops and can go on later
                    raise error
                else:
                    documents[task.id] = _kept(run, task, future.result() if error is None else _broken(task, error))
                claim.close()
    finally:
        for _, claim in running.values():
            claim.close()
    return [documents[task.id] for task in tasks]


def _kept(run: Run, task: Task, done: Done) -> dict[str, Any]:
    """Store what came back, records first."""
    document = done.document
    if done.memory is not None:
        sink = Folder(run)
        for cell, records in done.memory.records.items():
            sink.add(records, done.memory.revealed[cell])
        document = document | {"records": sink.digests}
    if "error" not in document:  # one that broke is tried again when the run goes on
        run.finish(task.id, document)
    return document


def _broken(task: Task, error: BaseException) -> Done:
    lines = traceback.format_exception(error)
    return Done({"task": task.id, "error": f"{type(error).__name__}: {error}", "trace": "".join(lines), "cells": []})
