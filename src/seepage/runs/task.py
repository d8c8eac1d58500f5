"""One task of a plan, from the opened table to stored cells: what a worker does, wherever it is."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from seepage._core import InputError, Progress, silent
from seepage.runs.plan import Task
from seepage.studies.rows.running import check_choice, run_choice
from seepage.data.source import Request, Source, located, open_source
from seepage.results import Cell, Record, Run


@dataclass
class Memory:
    """Keeps cells here, where there is no folder, or one that this worker cannot reach."""

    records: dict[str, list[Record]] = field(default_factory=dict)
    revealed: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def has(self, cell: Cell) -> bool:
        return cell.id in self.records

    def add(self, records: Sequence[Record], revealed: Sequence[dict[str, Any]] = ()) -> None:
        self.records[records[0].cell.id] = list(records)
        self.revealed[records[0].cell.id] = list(revealed)


@dataclass
class Folder:
    """Writes cells to a run folder as they come."""

    run: Run
    digests: dict[str, str] = field(default_factory=dict)

    def has(self, cell: Cell) -> bool:
        digest = self.run.digest(cell.id)
        if digest is not None:
            self.digests[cell.id] = digest
        return digest is not None

    def add(self, records: Sequence[Record], revealed: Sequence[dict[str, Any]] = ()) -> None:
        cell = records[0].cell.id
        if revealed:  # before the records, which say that the cell is done
            self.run.reveal(cell, revealed)
        self.digests[cell] = self.run.add(records)


@dataclass(frozen=True)
class Done:
    """A finished task: what the folder keeps of it, and cells that are still to be stored there."""

    document: dict[str, Any]
    memory: Memory | None = None


def run_task(
    task: Task,
    folder: str | None,
    source: Source | None = None,
    progress: Progress = silent,
    *,
    base: str | None = None,
) -> Done:
    """Run a task; finished cells are in the folder, or in what is returned if there is none to reach.

    Args:
        source: its table, if it is open already.
        base: the folder from which the plan names its files.
    """
    begin = time.perf_counter()
    variant = task.variant
    memory = Memory()
    if source is None:  # a table that cannot be opened here may be elsewhere, or later: no finished task
        source = _opened(located(variant.request, Path(base)) if base is not None else variant.request)
    try:
        check_choice(source, variant.settings, task.choice)
    except InputError as error:  # this cell cannot be; others of the plan can
        return Done({"task": task.id, "reason": str(error), "cells": []})
    sink = Folder(Run(Path(folder))) if folder is not None else memory
    findings = run_choice(source, variant.settings, task.choice, sink, variant=variant.name, progress=progress)
    document = {
        "task": task.id,
        "cells": [cell.id for cell in findings.cells],
        "records": sink.digests if isinstance(sink, Folder) else {},
        "utility": findings.utility,
        "privacy": findings.privacy,
        "losses": findings.losses,
        "seconds": time.perf_counter() - begin,
    }
    return Done(document, memory if folder is None else None)


@lru_cache(maxsize=2)
def _cached(request: Request) -> Source:
    return open_source(request)


def _opened(request: Request) -> Source:
    """The table; a worker that gets several tasks of it opens it once."""
    return _cached(request) if isinstance(request.data, str | Path) else open_source(request)
