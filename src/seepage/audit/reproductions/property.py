"""Document 003 (property inference) on Census-Income: the share of women, in 2 to 20 ranges.

What differs from the thesis everywhere: one set of models serves all cuts, so its largest number of models a class is
for the finest cut, and coarser cuts have more; numbers are standardised; learning rates and widths of meta-models,
which it does not state, are those of ``attacks/properties/meta.py``; 10,000 rows judge a model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import Any

from seepage.audit.property import PropertySettings, run_property_audit
from seepage.audit.reproductions.effort import Effort
from seepage.audit.reproductions.line import Line
from seepage.audit.reproductions.published import find, published
from seepage.audit.source import Request, open_source
from seepage.results.property import PropertyRun

MODELS = 2304  # for each class
METHODS = {"nll": "NLL (no ordinal)", "sor": "SOR", "interval": "interval", "corn": "CORN", "coral": "CORAL"}
PROSE = "Section 4.2.6 prose (Figure 4.21)"  # where the published numbers of the hierarchy stand
WOMEN = "sex == 'Female'"


def table_4_2(effort: Effort) -> Iterator[Line]:
    """All losses, 2 to 20 ranges; shadows and targets from the same rows."""
    settings = PropertySettings(
        property_text=WOMEN,
        classes=(2, 4, 5, 10, 20),
        losses=tuple(METHODS),
        models=_models(effort),
        rows=11_971,
        seed=effort.seed,
    )
    for cell in _run(settings, effort, "4.2"):
        yield from _lines("4.2", cell, effort, n_classes=str(cell["classes"]), evaluated_on="target")


def figure_4_21(effort: Effort) -> Iterator[Line]:
    """20 ranges at once, and in two steps: 4 rough ranges, 5 finer ones in each (section 4.2.6)."""
    settings = PropertySettings(
        property_text=WOMEN,
        classes=(20,),
        losses=tuple(METHODS),
        hierarchies=("4x5",),
        models=_models(effort),
        rows=11_971,
        seed=effort.seed,
    )
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


def table_4_3(effort: Effort) -> Iterator[Line]:
    """Sequential learning: the second participant attacks, its pool has as many women as men."""
    yield from _sequential("4.3", 0.5, "50/50", effort)


def table_4_4(effort: Effort) -> Iterator[Line]:
    """The same with 70 % women in the attacker's pool."""
    yield from _sequential("4.4", 0.7, "70/30", effort)


def _sequential(table: str, share: float, split: str, effort: Effort) -> Iterator[Line]:
    for pool in (0.3, 0.45):
        for epochs in (1, 10):
            settings = PropertySettings(
                property_text=WOMEN,
                classes=(2, 4),
                losses=tuple(METHODS),
                models=_models(effort),
                rows=11_971,
                pools="disjoint",
                shadow_pool=pool,
                shadow_share=share,
                shadow_epochs=epochs,
                seed=effort.seed,
            )
            for cell in _run(settings, effort, f"{table}-{pool}-{epochs}"):
                yield from _lines(
                    table,
                    cell,
                    effort,
                    said=f"pool {pool:.0%}, {epochs} epochs, ",
                    n_classes=str(cell["classes"]),
                    shadow_epochs=str(epochs),
                    shadow_pool=f"{pool:.0%}",
                    women_men_split=split,
                    evaluated_on="target",
                )


def _models(effort: Effort) -> int:
    return max(9, round(effort.scale * MODELS))


def _run(settings: PropertySettings, effort: Effort, name: str) -> list[dict[str, Any]]:
    source = open_source(Request(data="census_income"))
    folder = effort.folder / f"reproduce-property-{name}-{settings.models}-{settings.seed}"
    run = PropertyRun.open_or_create(folder, asdict(settings) | {"data": source.name})
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
        else f"{_models(effort):,} models for each of the most classes; the thesis has {MODELS:,}"
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
    "4.3": table_4_3,
    "4.4": table_4_4,
}
