"""What a run was asked for, written before its first task: so that a run which was stopped can be read.

``outline.json`` holds what a summary begins with, and the tasks of the plan with the record files that each would
write. What is there of them is summarised as in a whole run; what is not there is named.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

import polars as pl
from pydantic import Field, JsonValue, ValidationError

from seepage._core import InputError
from seepage.results.assembling import TrialsOf, assemble
from seepage.results.facts import ColumnFacts, Facts, NotRun, ThreatModel, Unfinished
from seepage.results.store import Run
from seepage.results.summary import Summary
from seepage.results.tasks import TaskDone
from seepage.results.trials import Trials

OUTLINE = "outline.json"
_STOPPED = "The run was stopped before it was reached."


class PlannedCell(Facts):
    """A cell, or a part of one, that a task would store."""

    file: Annotated[str, Field(pattern=r"^[0-9a-zA-Z_-]+$", description="its record file")]
    cell: str
    what: str
    point: Annotated[str, Field(description="the moment at which it is attacked")] = ""


class PlannedTask(Facts):
    """A task of the plan."""

    id: Annotated[str, Field(pattern=r"^[0-9a-zA-Z_-]+$")]
    what: str
    cells: tuple[PlannedCell, ...]


class PlannedVariant(Facts):
    """A variant of the plan: the columns of its table, and whether its rows may be shown."""

    name: str
    dataset: str
    columns: tuple[ColumnFacts, ...]
    reveal: bool = False


class Outline(Facts):
    """What a run was asked for.

    Args:
        begun: a copy of run.json, which is read if that file is damaged.
        head: the fields that every summary has, as far as they were known at the beginning.
    """

    begun: dict[str, JsonValue] = Field(default_factory=dict)
    head: dict[str, JsonValue]
    variants: tuple[PlannedVariant, ...]
    tasks: tuple[PlannedTask, ...]


def read_outline(run: Run) -> Outline:
    """What a run was asked for; a sentence if it does not say."""
    try:
        return Outline.model_validate_json(run.read(OUTLINE))
    except FileNotFoundError:
        raise InputError(
            f"The run {run.path} is not finished: it has no summary.json, and nothing in it can be read yet. Continue "
            f"it with its command and --out {run.path}."
        ) from None
    except ValidationError as error:
        raise InputError(f"{run.path / OUTLINE} cannot be read: {error.errors()[0]['msg']}.") from None


def partial_summary(run: Run, kinds: dict[str, type[Summary]]) -> Summary:
    """The summary of what is there of a run that is not finished.

    Args:
        kinds: the classes of summaries, by study.
    """
    outline = read_outline(run)
    kind = kinds.get(str(outline.head.get("study")))
    if kind is None:
        raise InputError(f"{run.path / OUTLINE} is of a study that this version does not know.")
    finished = {task.id: done for task in outline.tasks if (done := run.finished(task.id)) is not None}
    whole = run.whole()
    stored = {task.id: _stored(task, finished.get(task.id), whole) for task in outline.tasks}
    files = list(dict.fromkeys(name for names in stored.values() for name in names))
    parts, shown = _parts(run, outline, files)
    head = outline.head | {
        "name": run.path.name,
        "path": str(run.path),
        "not_run": [
            entry for task in outline.tasks for entry in _missing(task, finished.get(task.id), stored[task.id])
        ],
        "unfinished": Unfinished(
            tasks=len(outline.tasks),
            tasks_done=len(finished),
            cells=len({cell.cell for task in outline.tasks for cell in task.cells}),
            cells_done=len({trials.cell.id for every, _ in parts for trials in every}),
        ),
    }
    told = outline.head.get("not_tested") or []
    if not isinstance(told, list):
        raise InputError(f"{run.path / OUTLINE} cannot be read: what was not tested is no list.")
    head["not_tested"] = [*told, *not_reached(outline.tasks, finished)]
    threats = [done.threat_model for done in finished.values() if done.threat_model is not None]
    if threats:
        head["threat_model"] = ThreatModel.over(threats).model_dump(mode="json")
    facts: dict[str, list[dict[str, JsonValue]]] = {}
    for done in finished.values():
        for name, entries in done.facts.items():
            facts.setdefault(name, []).extend(entries)
    try:
        return assemble(kind, head, parts, facts, shown)
    except ValidationError as error:
        raise InputError(f"The run {run.path} holds facts that cannot be read: {error.errors()[0]['msg']}.") from None


def not_reached(tasks: Sequence[PlannedTask], finished: Mapping[str, TaskDone]) -> list[str]:
    """Attack points that were asked for and gave nothing of their own, as sentences: each is the round of another."""
    left: dict[str, list[str]] = {}
    for task in tasks:
        done = finished.get(task.id)
        if done is None or done.reason or done.error:
            continue
        points = dict.fromkeys(cell.point for cell in task.cells if cell.point and cell.file not in done.records)
        if points:
            left.setdefault(", ".join(points), []).append(task.what)
    return [
        f"Attack point{'s' if ', ' in points else ''} {points} ({'; '.join(where)}), asked for and not reached: the "
        "training is so short that another point, which was attacked, is the same round."
        for points, where in left.items()
    ]


def _stored(task: PlannedTask, done: TaskDone | None, whole: set[str]) -> list[str]:
    """The record files of a task that are there and whole."""
    if done is not None:
        return list(done.records)
    return [cell.file for cell in task.cells if cell.file in whole]


def _parts(run: Run, outline: Outline, files: list[str]) -> tuple[list[TrialsOf], list[dict[str, JsonValue]]]:
    """The trials by variant, and rows that may be shown."""
    every = read_trials(run, files)
    parts: list[TrialsOf] = []
    shown: list[dict[str, JsonValue]] = []
    known: set[tuple[str, str]] = set()
    for variant in outline.variants:
        if (variant.name, variant.dataset) in known:  # variants that only coordinates tell apart
            continue
        known.add((variant.name, variant.dataset))
        own = [
            trials for trials in every if (trials.cell.variant, trials.cell.dataset) == (variant.name, variant.dataset)
        ]
        parts.append((own, variant.columns))
        if variant.reveal:
            shown += [row for trials in own for row in run.revealed(trials.cell.id)]
    return parts, shown


def read_trials(run: Run, names: Sequence[str]) -> list[Trials]:
    """The trials in these record files; a sentence if one of them is no table, or another one."""
    try:
        return run.trials(names)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
        raise InputError(
            f"The run {run.path} holds records that cannot be read; repeat it with another --out."
        ) from None


def _missing(task: PlannedTask, done: TaskDone | None, stored: list[str]) -> list[NotRun]:
    """What a task was asked for and did not give."""
    if done is not None:
        return [NotRun(what=task.what, reason=done.reason, state="impossible")] if done.reason else []
    if not stored:
        return [NotRun(what=task.what, reason=_STOPPED, state="missing")]
    left = [cell for cell in task.cells if cell.file not in stored]
    return [NotRun(what=cell.what, reason=_STOPPED, state="missing") for cell in left]
