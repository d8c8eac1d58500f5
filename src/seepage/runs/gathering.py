"""From finished tasks to the summary of a run, or of the part of it that is there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic import JsonValue

from seepage.plans.options import Settings
from seepage.results import Cell, Summary, TaskDone, Trials, coordinates
from seepage.results.facts import Dataset, NotRun, ThreatModel, VariantSettings
from seepage.results.gate import label
from seepage.results.outline import Outline, PlannedCell, PlannedTask, PlannedVariant, not_reached
from seepage.results.summary import AND
from seepage.runs.identity import versions
from seepage.runs.machine import machine
from seepage.runs.plan import Plan, Task
from seepage.runs.task import record_name
from seepage.studies.study import Gathered, Opened, VariantTrials

Revealed = dict[str, JsonValue]


def gather(
    plan: Plan,
    sources: Sequence[Opened],
    finished: Mapping[str, TaskDone],
    trials: Callable[[Sequence[str]], list[Trials]],
    revealed: Callable[[str], list[Revealed]],
    head: Mapping[str, Any],
) -> Summary:
    """The summary of what is finished.

    Args:
        sources: the table of each variant.
        finished: tasks by their names; those that are not there were not reached.
        trials: those in record files, by their names.
        revealed: rows of a cell that may be shown.
        head: fields of the summary that the caller knows: its name, path, command and when it was begun.
    """
    parts, shown = [], []
    names: dict[int, list[str]] = {}
    for task in plan.tasks:
        names.setdefault(task.place, []).extend(_records(finished, task))
    for place, (variant, source) in enumerate(zip(plan.variants, sources, strict=True)):
        own = tuple(trials(names.get(place, [])))
        columns = source.describe().columns
        parts.append(
            VariantTrials(variant=variant.name, settings=variant.settings, source=source, columns=columns, trials=own)
        )
        if getattr(variant.settings, "reveal", False):
            shown += [row for each in own for row in revealed(each.cell.id)]
    known = [finished[task.id] for task in plan.tasks if task.id in finished]
    facts: dict[str, list[dict[str, JsonValue]]] = {}
    for done in known:
        for kind, entries in done.facts.items():
            facts.setdefault(kind, []).extend(entries)
    return plan.study.summarise(
        Gathered(
            head={**head, **_common(plan, sources, finished, known)},
            parts=tuple(parts),
            facts=facts,
            revealed=tuple(shown),
        )
    )


def outline_of(plan: Plan, sources: Sequence[Opened], head: Mapping[str, Any], begun: dict[str, JsonValue]) -> Outline:
    """What a run is asked for, before any of it is there."""
    nothing = gather(plan, sources, {}, lambda names: [], lambda cell: [], head)
    left = {"cells", "not_run", "unfinished", "not_tested"}
    envelope = nothing.model_dump(mode="json", include=set(Summary.model_fields) - left)
    return Outline(
        begun=begun,
        head=envelope | {"not_tested": list(nothing.not_tested)},
        variants=tuple(
            PlannedVariant(
                name=variant.name,
                dataset=source.name,
                columns=source.describe().columns,
                reveal=bool(getattr(variant.settings, "reveal", False)),
            )
            for variant, source in zip(plan.variants, sources, strict=True)
        ),
        tasks=_planned_tasks(plan, sources),
    )


def _planned_tasks(plan: Plan, sources: Sequence[Opened]) -> tuple[PlannedTask, ...]:
    several = len({source.name for source in sources}) > 1
    return tuple(
        PlannedTask(
            id=task.id,
            what=_what(task, sources[task.place].name if several else ""),
            cells=tuple(_planned(cell, part) for cell, part in _expected(plan, sources, task)),
        )
        for task in plan.tasks
    )


def _expected(plan: Plan, sources: Sequence[Opened], task: Task) -> Sequence[tuple[Cell, str]]:
    return plan.study.expected(sources[task.place], task.variant.settings, task.choice, task.variant.name)


def _planned(cell: Cell, part: str) -> PlannedCell:
    place = coordinates(cell)
    return PlannedCell(
        file=record_name(cell, part),
        cell=cell.id,
        what=", ".join(filter(None, (label(place), part))),
        point=str(place.get("attack_point", "")),
    )


def _records(finished: Mapping[str, TaskDone], task: Task) -> list[str]:
    done = finished.get(task.id)
    return [] if done is None else list(done.records)


def _common(
    plan: Plan, sources: Sequence[Opened], finished: Mapping[str, TaskDone], known: Sequence[TaskDone]
) -> dict[str, Any]:
    """The fields that every summary has, whatever its study."""
    first = plan.variants[0].settings
    several = len({source.name for source in sources}) > 1
    variants = [
        VariantSettings(name=variant.name, dataset=source.name, settings=_differing(variant.settings, first))
        for variant, source in zip(plan.variants, sources, strict=True)
    ]
    threats = [done.threat_model for done in known if done.threat_model is not None]
    return {
        "seed": first.model_dump()["seed"],
        "versions": _joined([done.versions for done in known if done.versions] or [versions()]),
        "machine": _joined([done.machine for done in known if done.machine] or [machine()]),
        "settings": first.model_dump(mode="json"),
        "dataset": _described(sources),
        "threat_model": ThreatModel.over(threats) if threats else ThreatModel(),
        "variants": tuple(variants) if len(variants) > 1 else (),
        "not_tested": (
            *plan.study.not_tested([variant.settings for variant in plan.variants]),
            *not_reached(_planned_tasks(plan, sources), finished),
        ),
        "not_run": tuple(
            _not_run(task, finished.get(task.id), sources[task.place].name if several else "")
            for task in plan.tasks
            if (done := finished.get(task.id)) is None or done.reason or done.error
        ),
    }


def _joined(facts: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """What the tasks ran on; several versions of one package are all said."""
    every: dict[str, list[str]] = {}
    for found in facts:
        for name, value in found.items():
            every.setdefault(name, []).append(value)
    return {name: AND.join(sorted(set(found))) for name, found in every.items()}


def _differing(settings: Settings, base: Settings) -> dict[str, JsonValue]:
    """What differs from the first variant."""
    ours, theirs = settings.model_dump(mode="json"), base.model_dump(mode="json")
    return {key: value for key, value in ours.items() if value != theirs[key]}


def _described(sources: Sequence[Opened]) -> Dataset:
    """The table; several are one entry, whose columns bear the name of their table."""
    each = [source.describe() for source in {(source.name, source.digest): source for source in sources}.values()]
    if len(each) == 1:
        return each[0]
    return Dataset(
        name=", ".join(dict.fromkeys(entry.name for entry in each)),
        rows=sum(entry.rows for entry in each),
        target=", ".join(dict.fromkeys(entry.target for entry in each)),
        task=", ".join(dict.fromkeys(entry.task for entry in each)),
        columns=tuple(c.model_copy(update={"dataset": entry.name}) for entry in each for c in entry.columns),
        dropped=tuple(d.model_copy(update={"dataset": entry.name}) for entry in each for d in entry.dropped),
        notes=tuple(note for entry in each for note in entry.notes),
        digest=", ".join(entry.digest for entry in each),
    )


def _what(task: Task, table: str) -> str:
    return ", ".join(part for part in (table, task.choice.label, task.variant.name) if part)


def _not_run(task: Task, done: TaskDone | None, table: str) -> NotRun:
    """A task that gave no number. The table is named where there are several."""
    what = _what(task, table)
    if done is None:
        return NotRun(what=what, reason="It was not reached yet.", state="missing")
    if done.error:
        return NotRun(what=what, reason=f"It stopped with an internal error: {done.error}", state="crashed")
    return NotRun(what=what, reason=done.reason, state="impossible")
