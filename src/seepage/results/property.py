"""The store of property audits: one JSON file for each finished meta-model. No torch in this room.

runs/<name>/
  run.json          kind "property", settings, versions
  shadows/          the shadow models, in shards
  targets/          the models that are attacked
  records/*.json    one file per finished cell
  summary.json      written last
  report.html
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from seepage._core import InputError
from seepage.results.store import Run
from seepage.results.summary import read_kind

KIND = "property"


@dataclass(frozen=True, kw_only=True)
class PropertyCell:
    """One meta-model, and what it read of the target models."""

    dataset: str
    property_text: str
    defense: str
    classes: int
    loss: str
    reader: str
    hierarchy: str = ""  # 4x5: in two steps

    @property
    def steps(self) -> str:
        """How it is said beside the loss."""
        return f" {self.hierarchy}" if self.hierarchy else ""

    @property
    def id(self) -> str:
        """Stable, and readable: the property is the same in the whole run."""
        named = f"{self.defense.replace(':', '-')}-{self.classes:02d}-{self.loss}-{self.reader}"
        return f"{named}-{self.hierarchy}" if self.hierarchy else named


@dataclass(frozen=True)
class PropertyRun:
    """A run folder of a property audit."""

    run: Run

    @staticmethod
    def open_or_create(path: Path, settings: dict[str, Any]) -> PropertyRun:
        """A new folder, or one with the same settings to go on with."""
        if not (path / "run.json").exists():
            return PropertyRun(Run.create(path, {"kind": KIND, "settings": settings}))
        found = Run(path).head()
        if found.get("kind") != KIND or found.get("settings") != json.loads(json.dumps(settings)):
            raise InputError(f"The output folder {path} holds a run with other settings; choose another --out.")
        return PropertyRun(Run(path))

    def add(self, cell: PropertyCell, numbers: dict[str, Any]) -> None:
        """Store a finished cell, whole or not at all."""
        self.run.write(f"records/{cell.id}.json", json.dumps(asdict(cell) | numbers))

    def found(self, cell: PropertyCell) -> dict[str, Any] | None:
        """A finished cell; None if it is not there, or not whole."""
        try:
            found: dict[str, Any] = json.loads((self.run.path / "records" / f"{cell.id}.json").read_text())
        except (FileNotFoundError, json.JSONDecodeError):
            return None
        return found

    def summarise(self, facts: dict[str, Any], cells: list[dict[str, Any]]) -> dict[str, Any]:
        """Written as summary.json."""
        summary = {"kind": KIND, "schema_version": 1, **facts, "cells": cells}
        self.run.write("summary.json", json.dumps(summary, indent=1) + "\n")
        return summary


def read_property(path: Path) -> dict[str, Any] | None:
    """The summary of a property audit; None if the folder holds another kind of run."""
    return read_kind(path, KIND)
