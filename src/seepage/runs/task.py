"""One task of a plan, from the opened table to stored cells: what a worker does, wherever it is."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from pydantic import JsonValue

from seepage._core import InputError, NotWritten, Progress, RunStopped, silent
from seepage.data.request import Request
from seepage.data.source import located
from seepage.models.compiling import compiled_functions
from seepage.plans.options import Settings
from seepage.results import Cell, Record, Run, TaskDone
from seepage.runs.identity import versions
from seepage.runs.machine import machine
from seepage.runs.plan import OPENS, Task
from seepage.studies import find_study
from seepage.studies.study import Opened, Work


@dataclass
class Memory:
    """Keeps cells here, where there is no folder, or one that this worker cannot reach."""

    records: dict[str, list[Record]] = field(default_factory=dict)
    revealed: dict[str, list[dict[str, JsonValue]]] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    parts: dict[str, str] = field(default_factory=dict)

    def has(self, cell: Cell, part: str = "") -> bool:
        return record_name(cell, part) in self.records

    def add(self, records: Sequence[Record], revealed: Sequence[dict[str, JsonValue]] = (), *, part: str = "") -> None:
        cell = records[0].cell
        self.records[record_name(cell, part)] = list(records)
        self.parts[record_name(cell, part)] = part
        if revealed:
            self.revealed[cell.id] = list(revealed)

    def keep(self, name: str, content: bytes) -> None:
        self.files[name] = content

    def kept(self, name: str) -> bytes:
        return self.files[name]

    def made(self, folder: str) -> None:
        raise AssertionError("without a run folder there is nothing in it")

    def take(self, other: Memory) -> None:
        """What another one keeps, too."""
        for name in ("records", "revealed", "files", "parts"):
            getattr(self, name).update(getattr(other, name))


@dataclass
class Folder:
    """Writes cells to a run folder as they come."""

    run: Run
    records: dict[str, str] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    others: dict[str, str] = field(default_factory=dict)

    def has(self, cell: Cell, part: str = "") -> bool:
        name = record_name(cell, part)
        digest = self.run.digest(f"records/{name}.parquet")
        if digest is None:
            return False
        shown = self.run.noted(f"revealed/{cell.id}.json")
        if shown and self.run.digest(f"revealed/{cell.id}.json") is None:  # damaged: the cell is made again
            return False
        self.records[name] = digest
        if shown:
            self.others[f"revealed/{cell.id}.json"] = shown
        return True

    def add(self, records: Sequence[Record], revealed: Sequence[dict[str, JsonValue]] = (), *, part: str = "") -> None:
        if revealed:  # before the records, which say that the cell is done
            cell = records[0].cell.id
            self.others[f"revealed/{cell}.json"] = self.run.reveal(cell, revealed)
        name, digest = self.run.add(records, part)
        self.records[name] = digest

    def keep(self, name: str, content: bytes) -> None:
        self.files[name] = self.run.keep(name, content)

    def kept(self, name: str) -> bytes:
        return self.run.kept(name)

    def made(self, folder: str) -> None:
        self.others |= self.run.digests_of(folder)


def record_name(cell: Cell, part: str) -> str:
    """The name of a record file."""
    return f"{cell.id}-{part}" if part else cell.id


@dataclass(frozen=True)
class Done:
    """A finished task: what the folder keeps of it, and cells that are still to be stored there."""

    task: TaskDone
    memory: Memory | None = None
    trace: str = ""


def run_task(
    task: Task,
    folder: str | None,
    source: Opened | None = None,
    progress: Progress = silent,
    *,
    base: str | None = None,
    files: Mapping[str, bytes] | None = None,
    rows: str = "",
) -> Done:
    """Run a task; finished cells are in the folder, or in what is returned if there is none to reach.

    Args:
        source: its table, if it is open already.
        base: the folder from which the plan names its files.
        files: those that earlier tasks kept, where there is no folder.
        rows: the digest of the table that the run is about, if the table is opened here: a file may have changed, or be
            another one on this machine.
    """
    begin, before = time.perf_counter(), compiled_functions()
    variant, study = task.variant, find_study(task.study)
    if source is None:  # a table that cannot be opened here may be elsewhere, or later: no finished task
        source = _found(task, base, rows)
    try:
        study.check(source, variant.settings, task.choice)
    except InputError as error:  # this cell cannot be; others of the plan can
        return Done(TaskDone(task=task.id, reason=str(error), versions=versions()))
    sink: Folder | Memory = Folder(Run(Path(folder))) if folder is not None else Memory(files=dict(files or {}))
    try:
        found = study.run(
            Work(
                source=source,
                settings=variant.settings,
                choice=task.choice,
                variant=variant.name,
                sink=sink,
                task=task.id,
                needs=task.needs,
                scratch=Path(folder) / "work" / task.id if folder is not None else None,
                output=Path(folder) if folder is not None and task.alone else None,
                progress=progress,
            )
        )
    except NotWritten:
        raise
    except InputError as error:  # told only while it ran: too few models were good enough, say
        return Done(TaskDone(task=task.id, reason=str(error), versions=versions()))
    names = [record_name(cell, part) for cell, part in found.cells]
    done = TaskDone(
        task=task.id,
        records={name: sink.records[name] if isinstance(sink, Folder) else "" for name in names},
        files=sink.files if isinstance(sink, Folder) else {},
        others=sink.others if isinstance(sink, Folder) else {},
        facts=found.facts,
        threat_model=found.threat_model,
        versions=versions(),
        machine=machine() | {"compiled": "yes" if compiled_functions() > before else "no"},
        seconds=time.perf_counter() - begin,
    )
    return Done(done, sink if isinstance(sink, Memory) else None)


def _found(task: Task, base: str | None, rows: str) -> Opened:
    """The task's table, which must be the one that the run is about."""
    request = task.variant.request
    source = _opened(task.study, located(request, Path(base)) if base is not None else request, task.variant.settings)
    if rows and source.digest != rows:
        raise RunStopped(
            f"A worker finds other rows in the table {source.name} than this run is about: the file has changed, or is "
            "another one on the worker's machine."
        )
    return source


@lru_cache(maxsize=2)
def _cached(study: str, request: Request, settings: str) -> Opened:
    chosen = find_study(study)
    return chosen.open(request, chosen.settings.model_validate_json(settings))


def _opened(study: str, request: Request, settings: Settings) -> Opened:
    """The table; a worker that gets several tasks of it opens it once."""
    if request.data is None or isinstance(request.data, str | Path):
        return _cached(study, request, settings.model_dump_json(include=set(OPENS)))
    return find_study(study).open(request, settings)
