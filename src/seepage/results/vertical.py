"""The store of vertical runs: one Parquet file for each finished cell, long format. No torch in this room.

runs/<name>/
  run.json               kind "vertical", settings, versions
  records/*.parquet      one file per finished cell: pl.read_parquet("runs/x/records/*.parquet")
  summary.json           written last
  report.html
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import polars as pl

from seepage._core import InputError
from seepage.results.interval import bootstrap
from seepage.results.store import Run
from seepage.results.summary import read_kind

KIND = "vertical"


@dataclass(frozen=True, kw_only=True)
class VerticalCell:
    """One training run.

    Args:
        dataset: name of the table.
        design: which part of TabNet is where.
        guests: parties with columns.
        phases: ``both``, ``no pretraining`` or ``no fine-tuning``.
        failure_probability, failure_method: absent guests.
        repeat: number of the run; it changes the split and all randomness.
    """

    dataset: str
    design: str
    guests: int
    phases: str = "both"
    failure_probability: float = 0.0
    failure_method: str = "none"
    repeat: int = 0

    @property
    def id(self) -> str:
        """Stable: a digest of all fields, with a name a person can read in front."""
        text = json.dumps(asdict(self), sort_keys=True)
        return f"{self.design}-{self.repeat}-{hashlib.blake2b(text.encode(), digest_size=5).hexdigest()}"


@dataclass(frozen=True)
class Value:
    """One number of a cell: ``scope`` says of what (``quality/published/XGBoost``), ``metric`` which (``f1``)."""

    scope: str
    metric: str
    value: float


@dataclass(frozen=True)
class VerticalRun:
    """A run folder of vertical training."""

    run: Run

    @staticmethod
    def open_or_create(path: Path, settings: dict[str, Any]) -> VerticalRun:
        """A new folder, or one with the same settings to go on with."""
        if not (path / "run.json").exists():
            return VerticalRun(Run.create(path, {"kind": KIND, "settings": settings}))
        found = Run(path).head()
        if found.get("kind") != KIND or found.get("settings") != json.loads(json.dumps(settings)):
            raise InputError(f"The output folder {path} holds a run with other settings; choose another --out.")
        return VerticalRun(Run(path))

    def same_rows(self, digest: str) -> None:
        """Stop if the run was begun with other rows: a table has changed since."""
        file = self.run.path / "table.txt"
        if not file.exists():
            self.run.write("table.txt", digest + "\n")
        elif file.read_text(encoding="utf-8").strip() != digest:
            raise InputError(
                f"The output folder {self.run.path} holds a run with the same settings on other rows: a table has "
                "changed since. Choose another --out."
            )

    def add(self, cell: VerticalCell, values: Iterable[Value]) -> None:
        """Store a finished cell, whole or not at all."""
        content = io.BytesIO()
        pl.DataFrame([asdict(cell) | asdict(value) for value in values]).write_parquet(content)
        self.run.write(f"records/{cell.id}.parquet", content.getvalue())

    def has(self, cell: VerticalCell) -> bool:
        """Whether the cell is finished."""
        return (self.run.path / "records" / f"{cell.id}.parquet").exists()

    def frame(self) -> pl.DataFrame:
        """All numbers so far."""
        paths = sorted((self.run.path / "records").glob("*.parquet"))
        return pl.concat([pl.read_parquet(path) for path in paths]) if paths else pl.DataFrame()

    def summarise(self, facts: dict[str, Any]) -> dict[str, Any]:
        """Means over repeats with intervals; written as summary.json."""
        frame = self.frame()
        keys = ["dataset", "design", "guests", "phases", "failure_probability", "failure_method"]
        groups = []
        for key, part in frame.group_by(keys, maintain_order=True):
            numbers = []
            for (scope, metric), same in part.group_by(["scope", "metric"], maintain_order=True):
                interval = bootstrap(same["value"].to_list())
                spread = interval.to_dict() if interval is not None else {"mean": None, "low": None, "high": None}
                numbers.append({"scope": scope, "metric": metric, "runs": same.height, **spread})
            groups.append(dict(zip(keys, key, strict=True)) | {"values": numbers})
        summary = {"kind": KIND, "schema_version": 1, **facts, "groups": groups}
        self.run.write("summary.json", json.dumps(summary, indent=1) + "\n")
        return summary


def read_vertical(path: Path) -> dict[str, Any] | None:
    """The summary of a vertical run; None if the folder holds another kind of run."""
    return read_kind(path, KIND)
