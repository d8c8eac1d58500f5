"""A table of a paper from a plan file: a share of the published work is run, and its cells are laid beside theirs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from seepage._core import unknown_name
from seepage.plans.registry import make_attack, written_out
from seepage.plans.spec import Spec, options_of
from seepage.reproductions.effort import Effort
from seepage.reproductions.facts import facts_of, is_exposure
from seepage.reproductions.line import Line
from seepage.reproductions.plan_file import PLANS
from seepage.reproductions.published import Published, beside, published
from seepage.results import Summary
from seepage.runs.api import open_sources, run
from seepage.runs.backends import Backend, open_backend
from seepage.runs.plan import make_plan, read_plan
from seepage.studies.rows.settings import SEVERAL, Settings

LEAST = 3  # attacked batches of a cell, however small the share: fewer say nothing about the spread


@dataclass(frozen=True, kw_only=True)
class Names:
    """How a paper calls what we have.

    Args:
        methods: by the attack's name.
        datasets, models: by our names; a model by its name or its whole spec.
        guesses: its baselines by ours.
        unknown: what it says where labels are not known.
        own: data sets that the user's own copy of another one replaces.
        differs: what is not the same in all its tables, for each data set.
    """

    paper: str
    methods: Mapping[str, str]
    datasets: Mapping[str, str]
    models: Mapping[str, str]
    guesses: Mapping[str, str] = field(default_factory=dict)
    unknown: str = "unknown"
    own: Mapping[str, str] = field(default_factory=dict)
    differs: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Scaled:
    """The values of a plan with less work, the published spec of every attack in it, and what is less."""

    values: dict[str, Any]
    attacks: dict[str, str]
    note: str


@dataclass(frozen=True)
class Outcome:
    """What a plan gave, and all that is needed to read it.

    Args:
        settings: of each variant, by its name and data set.
    """

    table: PlanTable
    summary: Summary
    scaled: Scaled
    settings: Mapping[tuple[str, str], Settings]

    def facts(self, cell: dict[str, Any]) -> dict[str, str]:
        """What stands behind a cell, in the words of the published settings."""
        settings = self.settings[cell["variant"], cell["dataset"]]
        return facts_of(cell, settings, self.scaled.attacks[cell["attack"]], self.table.names.unknown)

    def beside(self, cell: dict[str, Any], facts: Mapping[str, str], method: str, metric: str) -> Published | None:
        """The published number of a cell."""
        names = self.table.names
        dataset, model = names.datasets.get(cell["dataset"], ""), names.models.get(cell["model"])
        numbers = published(names.paper)
        return beside(
            numbers,
            self.table.number,
            facts,
            dataset=dataset,
            method=method,
            metric=metric,
            model=self.table.net or model,
        )

    def note(self, cell: dict[str, Any]) -> str:
        """What differs from the paper in this cell."""
        return "; ".join(filter(None, (self.scaled.note, self.table.names.differs.get(cell["dataset"], ""))))

    @cached_property
    def _varies(self) -> list[bool]:
        every = [_words(cell, self.table.names) for cell in self.summary.cells]
        return [len(set(column)) > 1 for column in zip(*every, strict=True)]

    def said(self, cell: dict[str, Any]) -> str:
        """A cell in words; what is the same in the whole table is left out."""
        own = _words(cell, self.table.names)
        return ", ".join(word for word, told in zip(own, self._varies, strict=True) if told and word) or own[0]


def by_cell(outcome: Outcome) -> Iterator[Line]:
    """Every cell by itself, and the baselines of the paper once for all attacks of a cell."""
    table, guessed = outcome.table, set()
    for cell in outcome.summary.cells:
        facts, said = outcome.facts(cell), outcome.said(cell)
        method = table.names.methods[Spec.read(cell["attack"]).name]
        for ours, theirs in table.metrics.items():
            found = outcome.beside(cell, facts, method, theirs)
            yield line_of(outcome, cell, said, theirs, cell["metrics"].get(ours), found)
        place = tuple(cell[key] for key in ("dataset", "model", "batch_size", "attack_point", "defense", "variant"))
        if place in guessed or "accuracy" not in table.metrics.values():
            continue
        guessed.add(place)
        for ours, theirs in table.names.guesses.items():
            found = outcome.beside(cell, facts, theirs, "accuracy")
            if found is not None:
                words = said.replace(method, theirs) if method in said else f"{said}, {theirs}"
                yield line_of(outcome, cell, words, "accuracy", cell["baselines"][ours], found)


def line_of(
    outcome: Outcome,
    cell: dict[str, Any],
    said: str,
    metric: str,
    value: Mapping[str, float | None] | None,
    found: Published | None,
) -> Line:
    """A line from an interval of the summary. A cell without a number is told, not left out."""
    scale = 100.0 if found is not None and found.unit == "percent" else 1.0
    mean, low, high = (
        None if value is None or value[key] is None else scale * float(value[key] or 0)
        for key in ("mean", "low", "high")
    )
    return Line(
        table=outcome.table.number,
        cell=said,
        metric=metric,
        ours=math.nan if mean is None else mean,
        low=low,
        high=high,
        trials=cell["trials"] - cell["failed"],
        published=None if found is None else found.value,
        spread=None if found is None else found.spread,
        note="; ".join(filter(None, ("" if mean is not None else cell["outcome"], outcome.note(cell)))),
    )


@dataclass(frozen=True, kw_only=True)
class PlanTable:
    """A table: a plan file, a part of it, and how its cells are read.

    Args:
        number: as the paper numbers it.
        plan: the file in ``plans/<paper>/``.
        names: how the paper calls things.
        part: values instead of those in the plan: its models or attack points that this table shows.
        metrics: the paper's metrics by ours.
        read: from the outcome to lines.
        net: the paper's name of all models of the plan, where it has one for all.
    """

    number: str
    plan: str
    names: Names
    part: Mapping[str, Any] = field(default_factory=dict)
    metrics: Mapping[str, str] = field(default_factory=lambda: {"accuracy": "accuracy"})
    read: Callable[[Outcome], Iterator[Line]] = by_cell
    net: str | None = None

    def values(self, effort: Effort) -> Scaled:
        """The plan's values: this part of it, with the user's own files and this share of the work."""
        values = narrowed(read_plan(PLANS / self.names.paper / self.plan), self.part)
        values = narrowed(values, chosen(values, effort.only))
        return scaled(_own(values, self.names, effort), effort)

    def __call__(self, effort: Effort) -> Iterator[Line]:
        """Run it, or go on with it, and read it."""
        less = self.values(effort)
        plan = make_plan(less.values)
        folder = effort.folder / f"reproduce-{self.names.paper}-{self.number}-{plan.fingerprint}"
        sources = open_sources(plan)
        with _workers(effort) as backend:
            summary = run(
                plan,
                out=folder,
                command=f"seepage reproduce {self.names.paper} --table {self.number} --scale {effort.scale:g}",
                sources=sources,
                backend=backend,
                strict=False,
                progress=effort.progress,
            )
        variants = zip(plan.variants, sources, strict=True)
        settings = {(variant.name, source.name): variant.settings for variant, source in variants}
        yield from self.read(Outcome(self, summary, less, settings))
        for sentence in summary.document["not_tested"]:
            if sentence.startswith("Not run: "):
                yield Line(table=self.number, cell=sentence, metric="", ours=math.nan, trials=0, note="not run")


def narrowed(values: Mapping[str, Any], part: Mapping[str, Any]) -> dict[str, Any]:
    """A part of a plan: other values for some of its keys, in its grid where the key stands there."""
    grid = dict(values.get("grid") or {})
    plain = dict(values)
    for key, value in part.items():
        if key in grid:
            grid[key] = list(value) if isinstance(value, list | tuple) else [value]
        else:
            plain[SEVERAL.get(key, key)] = value
    return plain | ({"grid": grid} if grid else {})


def chosen(values: Mapping[str, Any], only: Mapping[str, Sequence[str]]) -> dict[str, list[Any]]:
    """Those values of a plan's lists that are asked for by their text; others are told with the nearest one."""
    lists = {key: value for key, value in values.items() if isinstance(value, list)} | dict(values.get("grid") or {})
    part: dict[str, list[Any]] = {}
    for key, wanted in only.items():
        if key not in lists:
            raise unknown_name("key to choose by:", key, lists)
        there = {str(value): value for value in lists[key]}
        for text in wanted:
            if text not in there:
                raise unknown_name(f"value of {key} in this table:", text, there)
        part[key] = [there[text] for text in wanted]
    return part


def scaled(values: Mapping[str, Any], effort: Effort) -> Scaled:
    """A share of the plan's work: fewer attacked batches first, then fewer steps of the attack and of the training."""
    trials = int(values["trials"])
    fewer = min(trials, max(LEAST, round(effort.scale * trials)))
    depth = min(1.0, effort.scale * trials / fewer)
    attacks = {written_out("attack", shortened(spec, depth)): spec for spec in values["attacks"]}
    changes: dict[str, Any] = {"trials": fewer, "attacks": list(attacks), "seed": effort.seed}
    notes = [f"{fewer} of {trials} batches"] if fewer < trials else []
    if depth < 1:
        notes.append(f"{depth:.2g} of the attack's steps")
        exposure = float(values["exposure"])
        changes["exposure"] = depth * exposure
        points = values.get("attack_points", ())
        changes["attack_points"] = [f"{depth * float(point):g}" if is_exposure(point) else point for point in points]
        if exposure:
            notes.append(f"exposure {depth * exposure:.3g} of {exposure:g}")
    return Scaled(dict(values) | changes, attacks, ", ".join(notes))


def shortened(spec: str, depth: float) -> str:
    """An attack with this share of its steps."""
    if depth == 1:
        return spec
    steps = max(2, math.ceil(depth * options_of(make_attack(spec))["steps"]))
    read = Spec.read(spec)
    return ":".join([read.name, *(f"{k}={v}" for k, v in ({**read.options, "steps": steps}).items())])


def _own(values: dict[str, Any], names: Names, effort: Effort) -> dict[str, Any]:
    """The user's own copy of a data set in place of the one that stands in for it."""
    own = names.own.get(str(values.get("data")))
    if own is None or own not in effort.paths:
        return values
    return values | {"data": own, "path": effort.paths[own]}


def _words(cell: dict[str, Any], names: Names) -> list[str]:
    method = names.methods[Spec.read(cell["attack"]).name]
    parts = [cell["dataset"], names.models.get(cell["model"], cell["model"]), f"batch {cell['batch_size']}", method]
    steps = Spec.read(cell["attack"]).options.get("steps", "")
    return [*map(str, parts), f"{steps} steps" if steps else "", cell["attack_point"], cell["variant"]]


def _workers(effort: Effort) -> AbstractContextManager[Backend | None]:
    return open_backend("local", jobs=effort.jobs) if effort.jobs > 1 else nullcontext()
