"""Document 003 (property inference) on Census-Income: the share of women, in 2 to 20 ranges.

The plans in ``plans/property`` say what is run, and what differs from the thesis everywhere.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import Any

from seepage.data.source import Request, open_source
from seepage.reproductions.effort import Effort
from seepage.reproductions.line import Line
from seepage.reproductions.plan_file import read_values
from seepage.reproductions.published import find, published
from seepage.results.property import PropertyRun
from seepage.studies.property.running import PropertySettings, run_property_audit

MODELS = 2304  # for each class
METHODS = {"nll": "NLL (no ordinal)", "sor": "SOR", "interval": "interval", "corn": "CORN", "coral": "CORAL"}
PROSE = "Section 4.2.6 prose (Figure 4.21)"  # where the published numbers of the hierarchy stand


def read(name: str, effort: Effort) -> Iterator[PropertySettings]:
    """The runs of a plan file with this share of its models."""
    values = read_values("property", name, PropertySettings, ("grid",))
    grid = values.pop("grid", {})
    values |= {"models": max(9, round(effort.scale * values["models"])), "seed": effort.seed}
    for point in itertools.product(*grid.values()):
        yield PropertySettings(**values | dict(zip(grid, point, strict=True)))


def table_4_2(effort: Effort) -> Iterator[Line]:
    """All losses, 2 to 20 ranges; shadows and targets from the same rows."""
    for settings in read("losses", effort):
        for cell in _run(settings, effort, "4.2"):
            yield from _lines("4.2", cell, effort, n_classes=str(cell["classes"]), evaluated_on="target")


def figure_4_21(effort: Effort) -> Iterator[Line]:
    """20 ranges at once, and in two steps: 4 rough ranges, 5 finer ones in each (section 4.2.6)."""
    for settings in read("hierarchy", effort):
        for cell in _run(settings, effort, "4.21"):
            variant = "hierarchical 4x5" if cell["hierarchy"] else "flat 20"
            yield from _lines(
                "4.21",
                cell,
                effort,
                said=f"{variant}, ",
                stands_in=PROSE,
                differs="the thesis tests on 2,304 models with shares drawn at random",
                variant=variant,
            )


def sequential(table: str, name: str) -> Callable[[Effort], Iterator[Line]]:
    """Sequential learning: the second participant attacks."""

    def run_table(effort: Effort) -> Iterator[Line]:
        for settings in read(name, effort):
            pool, epochs, women = settings.shadow_pool, settings.shadow_epochs, settings.shadow_share or 0.0
            for cell in _run(settings, effort, f"{table}-{pool}-{epochs}"):
                yield from _lines(
                    table,
                    cell,
                    effort,
                    said=f"pool {pool:.0%}, {epochs} epochs, ",
                    n_classes=str(cell["classes"]),
                    shadow_epochs=str(epochs),
                    shadow_pool=f"{pool:.0%}",
                    women_men_split=f"{100 * women:.0f}/{100 * (1 - women):.0f}",
                    evaluated_on="target",
                )

    return run_table


def _models(effort: Effort) -> int:
    return max(9, round(effort.scale * MODELS))


def _run(settings: PropertySettings, effort: Effort, name: str) -> list[dict[str, Any]]:
    source = open_source(Request(data="census_income"))
    folder = effort.folder / f"reproduce-property-{name}-{settings.models}-{settings.seed}"
    run = PropertyRun.open_or_create(folder, asdict(settings) | {"data": source.name, "table": source.digest})
    summary = run_property_audit(source, settings, run, jobs=effort.jobs, progress=effort.progress)
    cells: list[dict[str, Any]] = summary["cells"]
    return cells


def _lines(
    table: str,
    cell: dict[str, Any],
    effort: Effort,
    *,
    said: str = "",
    stands_in: str | None = None,
    differs: str = "",
    **setting: str,
) -> Iterator[Line]:
    """Accuracy and squared error beside the published ones, which have these settings and stand in this table."""
    note = (
        ""
        if effort.scale == 1
        else f"{_models(effort):,} models for each class of the finest cut, the thesis has {MODELS:,}"
    )
    note = "; ".join(filter(None, (note, differs)))
    for metric, scale in (("accuracy", 100.0), ("mse", 1.0)):
        beside = find(published("property"), stands_in or table, method=METHODS[cell["loss"]], metric=metric, **setting)
        value = cell[metric]
        yield Line(
            table=table,
            cell=f"{said}{cell['classes']} classes, {METHODS[cell['loss']]}",
            metric=metric,
            ours=scale * value["mean"],
            low=None if value["low"] is None else scale * value["low"],
            high=None if value["high"] is None else scale * value["high"],
            trials=cell["targets"],
            published=None if beside is None else beside.value,
            note=note,
        )


TABLES: dict[str, Callable[[Effort], Iterator[Line]]] = {
    "4.2": table_4_2,
    "4.21": figure_4_21,
    "4.3": sequential("4.3", "sequential_50_50"),
    "4.4": sequential("4.4", "sequential_70_30"),
}
