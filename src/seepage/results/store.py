"""The run folder: what is in it, and how it is written so that a crash loses nothing finished.

runs/<name>/
  run.json          what this run is: its study, plan, tables, versions
  outline.json      what it was asked for, task by task: a run that was stopped is read by it
  records/*.parquet one file per finished cell (of a training: per run of it), long format
  files/*           models that later tasks of the run read, safetensors
  digests.txt       a line for each stored file: what it must be
  tasks/*.json      one file per finished task: its files with digests, and facts; or why it could not be run
  revealed/*.json   only with --reveal: private rows, one file per cell
  work/             states of trainings that are not finished
  model/            of a single vertical training: one folder for each party
  damaged/          files that did not match their digest; what was in them was made again
  summary.json      written last
  report.html
  errors/*.txt      tracebacks of tasks that broke; they are tried again when the run goes on

Nothing is written in place: a file appears whole, under its name and synced, or not at all. A task's file comes after
its records. JSON files begin with a seal, the digest of all else in them. The folder is its owner's alone (0700).
"""

from __future__ import annotations

import fcntl
import io
import json
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import polars as pl
from pydantic import JsonValue, ValidationError

from seepage._core import InputError, NotWritten
from seepage._core.files import (
    append_line,
    digest,
    make_folders,
    move,
    remove,
    remove_leftovers,
    sealed,
    touch,
    unsealed,
    write_atomically,
)
from seepage.results.folder import close_to_others, found_digests, holds_others, is_run, noted_digests, read_head
from seepage.results.record import Record
from seepage.results.tasks import TaskDone
from seepage.results.trials import Trials

# 3: files without a seal; 2: three stores, one for each kind of run; 1: files without `variant` and `record`
STORE_VERSION = 4
FOLLOW = "follow"  # what a process claims that follows a capture into a run folder
Head = dict[str, JsonValue]


@dataclass(frozen=True)
class Run:
    """One run folder."""

    path: Path

    @staticmethod
    def create(path: Path, head: Head) -> Run:
        """A new run folder. A folder that holds anything already is left as it is."""
        if path.exists() and (not path.is_dir() or holds_others(path)):
            what = "another run" if (path / "run.json").exists() else "other files"
            raise InputError(f"The output folder {path} holds {what}; choose another --out or remove it.")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)  # those above are not ours to close
            make_folders(path / "records")
        except OSError as error:
            raise InputError(f"The output folder {path} cannot be made: {error.strerror}.") from None
        close_to_others(path)
        run = Run(path)
        run.write("run.json", json.dumps(head, indent=2, ensure_ascii=False) + "\n")
        return run

    @staticmethod
    def open(path: Path) -> Run:
        """An existing run folder."""
        if not is_run(path):
            raise InputError(f"{path} is not a run folder: it has no run.json.")
        return Run(path)

    @staticmethod
    def open_or_create(path: Path, head: Head) -> Run:
        """A new run folder, or one to go on with: of the same plan, and on the same rows."""
        if not is_run(path):
            return Run.create(path, head)
        run = Run(path)
        found, whole = read_head(path)
        close_to_others(path)
        remove_leftovers(path)  # they may hold rows
        if found.get("store_version") != STORE_VERSION:
            raise InputError(
                f"The output folder {path} was written by another version of Seepage, and cannot be continued; "
                "choose another --out."
            )
        if found.get("plan") != head["plan"]:
            raise InputError(f"The output folder {path} holds a run with other settings; choose another --out.")
        if found.get("tables") != head["tables"]:
            raise InputError(
                f"The output folder {path} holds a run of the same plan on other rows: a table has changed since. "
                "Choose another --out."
            )
        if not whole:
            run._set_aside(path / "run.json")
            run.write("run.json", json.dumps(found, indent=2, ensure_ascii=False) + "\n")
        return run

    def head(self) -> Head:
        """What run.json says."""
        return read_head(self.path)[0]

    def write(self, name: str, content: str | bytes) -> Path:
        """Write a file whole or not at all; a JSON object gets a seal."""
        if name.endswith(".json") and isinstance(content, str) and content.startswith("{"):
            content = sealed(content)
        if not self.path.is_dir():
            raise NotWritten(f"The run folder {self.path} is gone; run it again.")
        with self._goes_on():
            return write_atomically(self.path / name, content)

    @contextmanager
    def _goes_on(self) -> Iterator[None]:
        """Where a file could not be written, say how to go on."""
        try:
            yield
        except NotWritten as error:
            raise type(error)(f"{error} When that is mended, continue with --out {self.path}.") from None

    def read(self, name: str) -> bytes:
        """A sealed JSON file, without its seal; a sentence if it is not what was written."""
        content = (self.path / name).read_bytes()
        found = unsealed(content)
        if found is None:
            raise InputError(
                f"{self.path / name} is damaged, or was changed after it was written. Continue the run with its "
                f"command and --out {self.path}: it is written anew."
            )
        return found

    def add(self, records: Sequence[Record], part: str = "") -> tuple[str, str]:
        """Store the records of one finished cell, or of a part of it; returns the file's name and its digest."""
        trials = Trials.of(records)
        stream = io.BytesIO()
        trials.to_frame().write_parquet(stream)
        name = f"{trials.cell.id}-{part}" if part else trials.cell.id
        return name, self._keep(f"records/{name}.parquet", stream.getvalue())

    def keep(self, name: str, content: bytes) -> str:
        """Store a file that later tasks read; returns its digest."""
        return self._keep(f"files/{name}", content)

    def _keep(self, name: str, content: bytes) -> str:
        self.write(name, content)
        with self._goes_on():
            append_line(self.path / "digests.txt", f"{name} {digest(content)}")
        return digest(content)

    def kept(self, name: str) -> bytes:
        """A file that an earlier task stored."""
        return (self.path / "files" / name).read_bytes()

    def digest(self, name: str) -> str | None:
        """The digest of a stored file of a task that is not finished yet; None if it is to be made."""
        file = self.path / name
        known = self.noted(name) if file.is_file() else None
        if known is None:
            return None
        if digest(file.read_bytes()) != known:
            self._set_aside(file)
            return None
        return known

    def noted(self, name: str) -> str | None:
        """What a stored file must be, whether or not it is there."""
        return noted_digests(self.path / "digests.txt").get(name)

    def digests_of(self, folder: str) -> dict[str, str]:
        """What the files below a folder of the run are."""
        return found_digests(self.path, folder)

    def whole(self) -> set[str]:
        """The record files that are there and whole; none is set aside, for a runner may be writing it."""
        known = noted_digests(self.path / "digests.txt")
        files = (self.path / "records").glob("*.parquet")
        return {file.stem for file in files if digest(file.read_bytes()) == known.get(f"records/{file.name}")}

    def reveal(self, cell: str, rows: Sequence[dict[str, JsonValue]]) -> str:
        """Store rows of a cell that may be shown; returns the file's digest. They are private."""
        content = json.dumps(rows, ensure_ascii=False, allow_nan=False) + "\n"
        return self._keep(f"revealed/{cell}.json", content.encode())

    def revealed(self, cell: str) -> list[dict[str, JsonValue]]:
        """Rows of a cell that may be shown; none if they are not what was written."""
        name = f"revealed/{cell}.json"
        content = (self.path / name).read_bytes() if (self.path / name).is_file() else b""
        rows: list[dict[str, JsonValue]] = json.loads(content) if digest(content) == self.noted(name) else []
        return rows

    def finish(self, done: TaskDone) -> None:
        """Note that a task is done, with everything about it that is no record."""
        self.write(f"tasks/{done.task}.json", done.model_dump_json(exclude_defaults=True) + "\n")
        work = self.path / "work" / done.task
        for file in (work / "damaged").glob("*"):
            self._set_aside(file)
        remove(work)  # what it would have gone on from
        with suppress(OSError):  # others are still at work
            (self.path / "work").rmdir()

    def finished(self, task: str, *, claimed: bool = False) -> TaskDone | None:
        """A finished task; None if it is to be run, or run again because a file of it is damaged.

        Who has ``claimed`` the task sets damaged files aside; for others they may be what a runner is writing.
        """
        path = self.path / "tasks" / f"{task}.json"
        try:
            done = TaskDone.model_validate_json(unsealed(path.read_bytes()) or b"")
        except FileNotFoundError:
            return None
        except ValidationError:  # not what was written, or not a task
            if claimed:
                self._set_aside(path)
            return None
        named = {f"records/{name}.parquet": known for name, known in done.records.items()}
        named |= {f"files/{name}": known for name, known in done.files.items()} | done.others
        whole = True
        for name, known in named.items():
            file = self.path / name
            if not file.is_file():
                whole = False
            elif digest(file.read_bytes()) != known:
                if claimed:
                    self._set_aside(file)
                whole = False
        return done if whole else None

    def broke(self, task: str, trace: str) -> None:
        """Keep the traceback of a task that stopped with an internal error."""
        self.write(f"errors/{task}.txt", trace)

    def errors(self) -> list[str]:
        """Tasks that stopped with an internal error and were not done since."""
        return sorted(
            file.stem
            for file in (self.path / "errors").glob("*.txt")
            if not (self.path / "tasks" / f"{file.stem}.json").exists()
        )

    def _set_aside(self, file: Path) -> None:
        """A damaged file is kept, under its name, where nobody reads it by accident."""
        if file.exists():  # another runner may have been faster
            move(file, self.path / "damaged" / file.name)

    def damaged(self) -> list[str]:
        """Files that were set aside."""
        return sorted(file.name for file in (self.path / "damaged").glob("*"))

    @contextmanager
    def claimed(self, task: str) -> Iterator[bool]:
        """Whether this process may run the task. The claim ends with the process, however that ends."""
        if not self.path.is_dir():
            raise NotWritten(f"The run folder {self.path} is gone; run it again.")
        lock = self.path / "tasks" / f"{task}.lock"
        with self._goes_on():
            touch(lock)
        with lock.open("rb") as stream:
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield False
                return
            yield True

    def is_claimed(self, task: str) -> bool:
        """Whether a process that lives has claimed the task; a claim of our own to find out lasts a moment only."""
        try:
            with (self.path / "tasks" / f"{task}.lock").open("rb") as stream:
                fcntl.flock(stream, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except FileNotFoundError:
            return False
        return False

    def frame(self) -> pl.LazyFrame:
        """All stored numbers, one line each, as a query that reads only what it needs."""
        return pl.scan_parquet(self.path / "records" / "*.parquet", missing_columns="insert")

    def trials(self, names: Sequence[str]) -> list[Trials]:
        """The trials in these record files."""
        with ThreadPoolExecutor(os.cpu_count()) as threads:  # polars reads without Python's lock
            frames = threads.map(lambda name: pl.read_parquet(self.path / "records" / f"{name}.parquet"), names)
            return [Trials.from_frame(frame) for frame in frames]
