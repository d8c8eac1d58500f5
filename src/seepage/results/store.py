"""The run folder: what is in it, and how it is written so that a crash loses nothing finished.

runs/<name>/
  run.json          settings, seed, versions: what this run is
  records/*.parquet one file per finished cell, long format: pl.read_parquet("runs/x/records/*.parquet")
  summary.json      written last
  report.html
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import polars as pl

from seepage._core import InputError
from seepage.results.record import Cell, Measure, Record
from seepage.results.summary import Summary

_CELL = [field.name for field in fields(Cell)]
_RECORD = ["repeat", "client", "round", "exposure", "rows", "outcome", "seconds", "note"]


@dataclass(frozen=True)
class Run:
    """One run folder."""

    path: Path

    @staticmethod
    def create(path: Path, settings: dict[str, Any]) -> Run:
        """A new run folder. A folder that holds anything already is left as it is."""
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            what = "another run" if (path / "run.json").exists() else "other files"
            raise InputError(f"The output folder {path} holds {what}; choose another --out or remove it.")
        try:
            (path / "records").mkdir(parents=True)
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

    def write(self, name: str, text: str) -> Path:
        """Write a file whole or not at all."""
        target = self.path / name
        temporary = target.with_suffix(target.suffix + ".tmp")
        with temporary.open("w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(target)
        return target

    def add(self, records: Sequence[Record]) -> None:
        """Store the records of one finished cell."""
        cells = {record.cell for record in records}
        if len(cells) != 1:
            raise ValueError(f"records of one cell are stored together; these are of {len(cells)}")
        target = self.path / "records" / f"{cells.pop().id}.parquet"
        temporary = target.with_suffix(".parquet.tmp")
        pl.DataFrame(list(_long(records)), infer_schema_length=None).write_parquet(temporary)
        temporary.replace(target)

    def summary(self) -> Summary:
        """The run's summary."""
        try:
            text = (self.path / "summary.json").read_text(encoding="utf-8")
        except FileNotFoundError:
            raise InputError(f"The run {self.path} is not finished: it has no summary.json.") from None
        return Summary.from_json(text, str(self.path / "summary.json"))

    def records(self) -> list[Record]:
        """All stored records."""
        paths = sorted((self.path / "records").glob("*.parquet"))
        return [record for path in paths for record in _records(pl.read_parquet(path))]


def _long(records: Sequence[Record]) -> Iterator[dict[str, Any]]:
    for record in records:
        head = asdict(record.cell) | {name: getattr(record, name) for name in _RECORD}
        if not record.values:  # a failed attack is a line too
            yield head | {"source": None, "scope": None, "metric": None, "value": None}
        for measure, value in record.values.items():
            yield head | asdict(measure) | {"value": value}


def _records(frame: pl.DataFrame) -> Iterator[Record]:
    for key, group in frame.group_by([*_CELL, *_RECORD], maintain_order=True):
        head = dict(zip([*_CELL, *_RECORD], key, strict=True))
        values = {
            Measure(line["source"], line["scope"], line["metric"]): line["value"]
            for line in group.iter_rows(named=True)
            if line["metric"] is not None
        }
        yield Record(
            cell=Cell(**{name: head[name] for name in _CELL}),
            **{name: head[name] for name in _RECORD},
            values=values,
        )
