"""The run folder: what is in it, and how it is written so that a crash loses nothing finished.

runs/<name>/
  run.json          what this run is: its settings or plan, versions
  records/*.parquet one file per finished cell, long format: pl.read_parquet("runs/x/records/*.parquet")
  digests.txt       a line for each stored cell: what its file must be
  tasks/*.json      one file per finished task: its cells with digests, utility, privacy; or why it could not be run
  revealed/*.json   only with --reveal: private rows, one file per cell
  damaged/          record files that did not match their digest; their cells were run again
  summary.json      written last
  report.html
  errors/*.txt      tracebacks of tasks that broke; they are tried again when the run goes on

Nothing is written in place: a file appears whole, under its name, or not at all. A task's file is written after its
records, so what it names is there.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import io
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from seepage._core import DiskFull, InputError
from seepage.results.record import Cell, Measure, Record
from seepage.results.summary import Summary

STORE_VERSION = 2  # 1: files without `variant` and `record`
_CELL = [field.name for field in fields(Cell)]
_RECORD = ["repeat", "client", "round", "exposure", "rows", "outcome", "seconds", "note"]
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


@dataclass(frozen=True)
class Run:
    """One run folder."""

    path: Path

    @staticmethod
    def create(path: Path, settings: dict[str, Any]) -> Run:
        """A new run folder. A folder that holds anything already is left as it is."""
        if path.exists() and (not path.is_dir() or _others(path)):
            what = "another run" if (path / "run.json").exists() else "other files"
            raise InputError(f"The output folder {path} holds {what}; choose another --out or remove it.")
        try:
            (path / "records").mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"The output folder {path} cannot be made: {error.strerror}.") from None
        run = Run(path)
        run.write("run.json", json.dumps(settings, indent=2, ensure_ascii=False) + "\n")
        return run

    @staticmethod
    def open(path: Path) -> Run:
        """An existing run folder."""
        if not (path / "run.json").exists():
            raise InputError(f"{path} is not a run folder: it has no run.json.")
        return Run(path)

    @staticmethod
    def open_or_create(path: Path, settings: dict[str, Any], *, same: str) -> Run:
        """A new run folder, or one to go on with: its ``settings[same]`` must be equal."""
        if not (path / "run.json").exists():
            return Run.create(path, settings)
        run = Run(path)
        if run.head().get(same) != json.loads(json.dumps(settings[same])):
            raise InputError(f"The output folder {path} holds a run with other settings; choose another --out.")
        return run

    def head(self) -> dict[str, Any]:
        """What run.json says."""
        try:
            head: dict[str, Any] = json.loads((self.path / "run.json").read_text(encoding="utf-8"))
        except json.JSONDecodeError as error:
            raise InputError(f"{self.path / 'run.json'} is not valid JSON: {error}.") from None
        return head

    def write(self, name: str, content: str | bytes) -> Path:
        """Write a file whole or not at all: beside its place, safely on the disk, and then moved there."""
        target = self.path / name
        temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
        try:
            with self._full(name):
                target.parent.mkdir(exist_ok=True)
                with temporary.open("wb") as stream:
                    stream.write(content.encode() if isinstance(content, str) else content)
                    stream.flush()
                    os.fsync(stream.fileno())
                temporary.replace(target)
        except DiskFull:
            temporary.unlink(missing_ok=True)
            raise
        return target

    def add(self, records: Sequence[Record]) -> str:
        """Store the records of one finished cell; returns the digest of what was written."""
        cells = {record.cell for record in records}
        if len(cells) != 1:
            raise ValueError(f"records of one cell are stored together; these are of {len(cells)}")
        stream = io.BytesIO()
        _long(records).write_parquet(stream)
        content = stream.getvalue()
        cell, digest = cells.pop().id, _digest(content)
        self.write(f"records/{cell}.parquet", content)
        with self._full("digests.txt"), (self.path / "digests.txt").open("a", encoding="utf-8") as noted:
            noted.write(f"{cell} {digest}\n")  # one short write at the end: runners do not mix theirs
        return digest

    def reveal(self, cell: str, rows: Sequence[dict[str, Any]]) -> None:
        """Store rows of a cell that may be shown. They are private."""
        self.write(f"revealed/{cell}.json", json.dumps(rows, ensure_ascii=False, allow_nan=False) + "\n")

    def revealed(self, cell: str) -> list[dict[str, Any]]:
        """Rows of a cell that may be shown."""
        file = self.path / "revealed" / f"{cell}.json"
        rows: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8")) if file.exists() else []
        return rows

    @contextmanager
    def _full(self, name: str) -> Iterator[None]:
        """A full disk is one sentence."""
        try:
            yield
        except OSError as error:
            if error.errno not in _FULL:
                raise
            raise DiskFull(
                f"The disk is full: {self.path / name} could not be written. What is finished is kept; make room and "
                f"go on with --out {self.path}."
            ) from None

    def finish(self, task: str, document: dict[str, Any]) -> None:
        """Note that a task is done, with everything about it that is no record."""
        self.write(f"tasks/{task}.json", json.dumps(document, ensure_ascii=False, allow_nan=False) + "\n")

    def finished(self, task: str, *, claimed: bool = False) -> dict[str, Any] | None:
        """A finished task; None if it is to be run, or run again because a file of it is damaged.

        Who has ``claimed`` the task sets damaged files aside; for others they may be what a runner is writing.
        """
        path = self.path / "tasks" / f"{task}.json"
        try:
            document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except ValueError:  # not JSON, or not even text
            if claimed:
                self._set_aside(path)
            return None
        whole = True
        for cell, digest in document.get("records", {}).items():
            file = self.path / "records" / f"{cell}.parquet"
            if not file.exists():
                whole = False
            elif _digest(file.read_bytes()) != digest:
                if claimed:
                    self._set_aside(file)
                whole = False
        return document if whole else None

    def digest(self, cell: str) -> str | None:
        """The digest of a cell of a task that is not finished yet; None if it is to be run."""
        file = self.path / "records" / f"{cell}.parquet"
        noted = self.path / "digests.txt"
        if not file.exists() or not noted.exists():
            return None
        lines = [line.split() for line in noted.read_text(encoding="utf-8").splitlines()]
        known = dict(line for line in lines if len(line) == 2).get(cell)
        if known is None:
            return None
        if _digest(file.read_bytes()) != known:
            self._set_aside(file)
            return None
        return known

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
        (self.path / "damaged").mkdir(exist_ok=True)
        file.replace(self.path / "damaged" / file.name)

    def damaged(self) -> list[str]:
        """Files that were set aside."""
        return sorted(file.name for file in (self.path / "damaged").glob("*"))

    @contextmanager
    def claimed(self, task: str) -> Iterator[bool]:
        """Whether this process may run the task. The claim ends with the process, however that ends."""
        (self.path / "tasks").mkdir(exist_ok=True)
        with (self.path / "tasks" / f"{task}.lock").open("w") as stream:
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield False
                return
            yield True

    def summary(self) -> Summary:
        """The run's summary."""
        try:
            text = (self.path / "summary.json").read_text(encoding="utf-8")
        except FileNotFoundError:
            raise InputError(f"The run {self.path} is not finished: it has no summary.json.") from None
        return Summary.from_json(text, str(self.path / "summary.json"))

    def frame(self) -> pl.LazyFrame:
        """All stored numbers, one line each, as a query that reads only what it needs."""
        return pl.scan_parquet(self.path / "records" / "*.parquet", missing_columns="insert")

    def records(self, cells: Sequence[str] | None = None) -> list[Record]:
        """All stored records, or those of some cells in their order."""
        folder = self.path / "records"
        paths = sorted(folder.glob("*.parquet")) if cells is None else [folder / f"{cell}.parquet" for cell in cells]
        return [record for path in paths for record in _records(_migrated(pl.read_parquet(path)))]


def _others(path: Path) -> bool:
    """Whether a folder holds more than the beginning of a run that was stopped before its first file was there."""
    return any(
        not (entry.name == "records" and entry.is_dir() and not any(entry.iterdir()))
        and not (entry.name.startswith(".run.json.") and entry.name.endswith(".tmp"))
        for entry in path.iterdir()
    )


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def _long(records: Sequence[Record]) -> pl.DataFrame:
    """One line for each number, built by columns: a line each in Python would take longer than many attacks."""
    counts = [max(len(record.values), 1) for record in records]  # a failed attack is a line too
    places = np.repeat(np.arange(len(records), dtype=np.uint32), counts)
    heads = pl.DataFrame(
        {name: [getattr(record.cell, name) for record in records] for name in _CELL}
        | {name: [getattr(record, name) for record in records] for name in _RECORD}
    )
    first: list[Measure | None] = [*records[0].values] or [None]
    if all(list(record.values) == first for record in records):  # as nearly always: the names once, and repeated
        measures, lines = first, np.tile(np.arange(len(first)), len(records))
    else:
        measures = [measure for record in records for measure in (record.values or (None,))]
        lines = np.arange(len(measures))
    names = pl.DataFrame(
        {name: [getattr(m, name) if m else None for m in measures] for name in ("source", "scope", "metric")},
        schema=dict.fromkeys(("source", "scope", "metric"), pl.String),
    )
    values = [value for record in records for value in (record.values.values() or (None,))]
    return pl.concat(
        [
            heads[places],
            pl.DataFrame({"record": places}),
            names[lines],
            pl.DataFrame({"value": pl.Series(values, dtype=pl.Float64)}),
        ],
        how="horizontal",
    )


def _migrated(frame: pl.DataFrame) -> pl.DataFrame:
    """A file of any version as the newest one."""
    if "variant" not in frame.columns:
        frame = frame.with_columns(variant=pl.lit(""))
    if "record" not in frame.columns:
        frame = frame.with_columns(record=pl.struct(_RECORD).rank("dense").cast(pl.UInt32)).sort(
            "record", maintain_order=True
        )
    return frame


def _records(frame: pl.DataFrame) -> Iterator[Record]:
    if frame.is_empty():
        return
    cell = Cell(**frame.select(_CELL).row(0, named=True))
    names = frame.select("source", "scope", "metric").rows()
    known = {name: Measure(*name) for name in set(names) if name[2] is not None}
    values = frame["value"].to_list()
    number = frame["record"].to_numpy()
    begins = np.flatnonzero(np.diff(number, prepend=number[0] + 1)).tolist()
    heads = frame.select(_RECORD)[begins].rows(named=True)
    before: list[Any] = []
    measures: list[Measure] = []
    for begin, end, head in zip(begins, [*begins[1:], len(values)], heads, strict=True):
        if names[begin:end] != before:  # as nearly never: records of a cell have the same numbers
            before = names[begin:end]
            measures = [known[name] for name in before if name in known]
        yield Record(cell=cell, **head, values=dict(zip(measures, values[begin:end], strict=False)))
