"""A choice run for its own sake: nothing is stored, and what it gave is looked at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import JsonValue

from seepage.results import Cell, Record
from seepage.studies.study import Study, Work


@dataclass
class Tried:
    """A sink that remembers."""

    records: list[Record] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)

    def has(self, cell: Cell, part: str = "") -> bool:
        return False

    def add(self, records: Sequence[Record], revealed: Sequence[dict[str, JsonValue]] = (), *, part: str = "") -> None:
        self.records += records

    def keep(self, name: str, content: bytes) -> None:
        self.files[name] = content

    def kept(self, name: str) -> bytes:
        return self.files[name]

    def made(self, folder: str) -> None:
        raise AssertionError("nothing is stored, so there is no folder")


def tried(study: Study, source: Any, settings: Any, choice: Any) -> Tried:
    """What running this choice gives."""
    sink = Tried()
    study.run(Work(source=source, settings=settings, choice=choice, variant="", sink=sink))
    return sink
