"""What a study is: the only thing that differs between the ways to run something.

A study declares its settings, its choices (what is trained once), a check before any work, how a choice is run, and
how its records become a summary. Everything else (words, plans, processes, clusters, claims, digests, resuming,
provenance, gate, export, reports) is shared, and knows no study by name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from pydantic import JsonValue

from seepage._core import Progress, silent
from seepage.data.request import Request
from seepage.plans.options import Settings
from seepage.results import Cell, Record, Summary, Trials
from seepage.results.assembling import TrialsOf
from seepage.results.facts import ColumnFacts, Dataset, ThreatModel

if TYPE_CHECKING:
    from seepage.data.overview import Overview
    from seepage.studies.load import Load


class Opened(Protocol):
    """An opened table, or the aligned tables of several parties."""

    @property
    def name(self) -> str: ...

    @property
    def digest(self) -> str:
        """Equal for equal rows: a file may have changed since a run was begun."""
        ...

    @property
    def notes(self) -> tuple[str, ...]: ...

    @property
    def overview(self) -> Overview | None:
        """What was made of the table's columns, where that was a question."""
        ...

    def describe(self) -> Dataset: ...


class Choice(Protocol):
    """What is trained once: a frozen dataclass of plain values."""

    @property
    def label(self) -> str:
        """In words, for progress bars and for what could not be run."""
        ...


class Sink(Protocol):
    """Where finished cells go, with rows that may be shown. Cells that it ``has`` already are not made again."""

    def has(self, cell: Cell, part: str = "") -> bool: ...

    def add(
        self, records: Sequence[Record], revealed: Sequence[dict[str, JsonValue]] = (), *, part: str = ""
    ) -> None: ...

    def keep(self, name: str, content: bytes) -> None:
        """A file that a later task of the run reads."""
        ...

    def kept(self, name: str) -> bytes:
        """A file that an earlier task kept."""
        ...

    def made(self, folder: str) -> None:
        """A folder of the run folder is complete: what is in it is part of the task, and is made again if damaged."""
        ...


@dataclass(frozen=True, kw_only=True)
class Work:
    """One choice to be run.

    Args:
        source: its table.
        settings: of the study.
        choice: which.
        variant: what else differs within the plan; a coordinate of every cell.
        sink: where finished cells go.
        task: its name.
        needs: names of tasks that were finished before, by the label of their choice.
        scratch: a folder for a state that outlives a kill; None where there is none.
        output: the run folder, for what a user wants beside records (a trained model); None where there is none, or
            where the plan has other tasks.
        progress: is told how far it is.
    """

    source: Any
    settings: Any
    choice: Any
    variant: str
    sink: Sink
    task: str = ""
    needs: Mapping[str, str] = field(default_factory=dict)
    scratch: Path | None = None
    output: Path | None = None
    progress: Progress = silent


@dataclass
class Found:
    """What running a choice gave beside its records.

    Args:
        cells: those it tested, in order, with the part of each that it ran.
        facts: what the study keeps beside records, by kind.
        threat_model: read off the first observation that was handed out.
    """

    cells: list[tuple[Cell, str]] = field(default_factory=list)
    facts: dict[str, list[dict[str, JsonValue]]] = field(default_factory=dict)
    threat_model: ThreatModel | None = None

    def note(self, kind: str, entry: Any) -> None:
        """Keep a fact, a model of ``seepage.results``."""
        self.facts.setdefault(kind, []).append(entry.model_dump(mode="json"))


@dataclass(frozen=True, kw_only=True)
class VariantTrials:
    """What one variant of a plan gave.

    Args:
        variant: its name.
        settings: of the study.
        source: its table.
        columns: of the table.
        trials: all of them, cell by cell.
    """

    variant: str
    settings: Any
    source: Any
    columns: tuple[ColumnFacts, ...]
    trials: tuple[Trials, ...]


@dataclass(frozen=True, kw_only=True)
class Gathered:
    """All that a run gave, to be summarised.

    Args:
        head: the fields that every summary has.
        parts: variant by variant.
        facts: those that choices noted, by kind.
        revealed: rows that may be shown.
    """

    head: Mapping[str, Any]
    parts: tuple[VariantTrials, ...]
    facts: Mapping[str, list[dict[str, JsonValue]]]
    revealed: tuple[dict[str, JsonValue], ...] = ()

    @property
    def told(self) -> tuple[list[TrialsOf], Mapping[str, list[dict[str, JsonValue]]], Sequence[dict[str, JsonValue]]]:
        """What :func:`assemble` makes a summary of, beside its head."""
        return [(part.trials, part.columns) for part in self.parts], self.facts, self.revealed


@dataclass(frozen=True, kw_only=True)
class Probe:
    """A kind of work, to be tried before a plan is run.

    Args:
        kind: work of one kind costs the same.
        trains: whether it trains or attacks; kinds that were not tried cost the mean of those alike.
        times: how often it is done in the choice.
    """

    kind: tuple[object, ...]
    trains: bool
    times: int


class Study(Protocol):
    """One way to run something. It holds nothing; all methods are functions of their arguments."""

    @property
    def name(self) -> str: ...

    @property
    def about(self) -> str:
        """One line about it."""
        ...

    @property
    def settings(self) -> type[Settings]: ...

    @property
    def said(self) -> frozenset[str]:
        """Settings that are coordinates of a cell, so that the name of a variant need not say them."""
        ...

    def open(self, request: Request, settings: Any) -> Opened:
        """The table; a mistake is one sentence."""
        ...

    def choices(self, settings: Any) -> Sequence[Choice]:
        """What is trained once, in the order in which it is run; what a choice needs comes before it."""
        ...

    def needs(self, settings: Any, choice: Any) -> Sequence[Choice]:
        """Choices that must be finished first."""
        ...

    def matters(self, settings: Any, choice: Any) -> dict[str, Any]:
        """The settings that can change a number of this choice: choices that agree in them are run once."""
        ...

    def check(self, source: Any, settings: Any, choice: Any) -> None:
        """Stop with a sentence, before any work and before anything is written, if this cannot be run."""
        ...

    def run(self, work: Work) -> Found:
        """Run a choice; finished cells go to the sink as they come."""
        ...

    def load(self, source: Any, settings: Any, choice: Any) -> Load:
        """What a choice would cost, counted from its settings at once: before a model is built or a row touched."""
        ...

    def probes(self, source: Any, settings: Any, choice: Any) -> Sequence[Probe]:
        """The kinds of work in a choice."""
        ...

    def try_one(self, source: Any, settings: Any, choice: Any, probe: Probe) -> float:
        """Seconds of processor time that one piece of this kind takes."""
        ...

    def places(self, settings: Any, choice: Any) -> Sequence[Sequence[object]]:
        """The coordinates of the cells that a choice makes, as far as settings tell: two equal ones would be mixed."""
        ...

    def count(self, settings: Any) -> int:
        """How many tasks or cells these settings make, whichever is more: counted, none of them is made for it."""
        ...

    def cells(self, settings: Any, choice: Any) -> int:
        """How many cells a choice makes at most."""
        ...

    def expected(self, source: Any, settings: Any, choice: Any, variant: str) -> Sequence[tuple[Cell, str]]:
        """The cells that a choice is asked for, with the part of each that it runs: some may not be reached."""
        ...

    def not_tested(self, every: Sequence[Any]) -> Sequence[str]:
        """What a run with these settings says nothing about."""
        ...

    def summarise(self, gathered: Gathered) -> Summary:
        """The summary of a run, or of the part of it that is finished."""
        ...
