"""What one choice of an audit finds, and where its cells go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from seepage.results import Cell, Record


@dataclass(frozen=True)
class Choice:
    """What one federation is trained with."""

    model: str
    defense: str
    batch_size: int


@dataclass
class Findings:
    """What was found of one choice beside the records: they go to a sink, cell by cell."""

    cells: list[Cell] = field(default_factory=list)
    utility: list[dict[str, Any]] = field(default_factory=list)
    privacy: list[dict[str, Any]] = field(default_factory=list)
    losses: list[dict[str, Any]] = field(default_factory=list)


class Sink(Protocol):
    """Where finished cells go, with rows that may be shown. Cells that it ``has`` already are not attacked again."""

    def has(self, cell: Cell) -> bool: ...

    def add(self, records: Sequence[Record], revealed: Sequence[dict[str, Any]] = ()) -> None: ...
