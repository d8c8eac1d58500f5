"""What a table's plans would give if every number were a half: for tests of how cells find their published numbers."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from seepage.reproductions.paper import Paper, PaperTable
from seepage.reproductions.plan_result import PlanResult, VariantSettings
from seepage.reproductions.running import TablePlan, Workload, plans_of
from seepage.results import (
    BASELINES,
    MATCHING_RULES,
    TABLEAK_RANDOM,
    Interval,
    PropertyCell,
    RowsCell,
    Summary,
    VerticalCell,
    coordinates,
)
from seepage.results.cells import Cell
from seepage.results.facts import Dataset, ThreatModel
from seepage.results.property import PropertyResult, PropertySummary
from seepage.results.row_numbers import DoubtNumbers
from seepage.results.rows import Exposure, RowsResult, RowsSummary, Utility
from seepage.results.training import TrainingResult, TrainingSummary, Value
from seepage.results.vertical import CurvePoint, Losses, VerticalResult, VerticalSummary
from seepage.runs import Plan, make_plan
from seepage.runs.plan import Task
from seepage.studies.training.running import cell_of, trainings_of

HALF = Interval(0.5, 0.4, 0.6)
SCORES = {"adult": "roc_auc", "clinic": "roc_auc", "california_housing": "r2"}


def imagined(paper: Paper, table: PaperTable, work: Workload | None = None) -> Iterator[PlanResult]:
    """One result for each plan of a table."""
    for plan in plans_of(paper, table, work or Workload()):
        yield imagined_plan(paper, table, plan)


def imagined_plan(paper: Paper, table: PaperTable, plan: TablePlan) -> PlanResult:
    """What one plan would give."""
    made, published = make_plan(plan.scaled.values), make_plan(plan.published)
    variants = tuple(
        VariantSettings(name=ours.name, dataset=str(ours.request.data), published=theirs.settings, run=ours.settings)
        for ours, theirs in zip(made.variants, published.variants, strict=True)
    )
    make = {"rows": _rows, "vertical": _vertical, "property": _property, "training": _training}[made.study.name]
    return PlanResult(
        paper=paper, table=table, summary=make(made), variants=variants, less=plan.scaled.less, shows=plan.shows
    )


def head(study: str) -> dict[str, object]:
    """The fields that every summary has."""
    dataset = Dataset(name="imagined", rows=10_000, target="target", task="binary")
    return {
        "study": study, "name": "imagined", "seed": 0, "versions": {}, "settings": {}, "command": "",
        "dataset": dataset, "threat_model": ThreatModel(),
    }  # fmt: skip


def envelope(cell: Cell) -> dict[str, object]:
    """The fields that every result has, for three trials that worked."""
    return coordinates(cell) | {"id": cell.id, "trials": 3, "outcome": "ok", "outcomes": {"ok": 3}}


def _rows(plan: Plan) -> Summary:
    cells, utility = [], []
    names = (
        "accuracy",
        "accuracy_by_l1",
        "accuracy_by_cells",
        "accuracy_num",
        "accuracy_cat",
        "accuracy_num_by_l1",
        "accuracy_cat_by_l1",
        "emr",
        "rmse",
        "doubt_cat",
        "doubt_num",
    )
    for task in plan.tasks:
        settings, where = task.variant.settings.model_dump(), _where(task)
        score = SCORES.get(str(where["dataset"]), "f1_macro")
        about = where | {"protocol": settings["protocol"], "repeat": 0, "parameters": 1, "round": 1}
        reached = Exposure(min=1, mean=1, max=1)
        utility.append(Utility(**about, attack_point="best", exposure=reached, validation={score: 0.5}))
        for point, attack in itertools.product(settings["attack_points"], settings["attacks"]):
            name = "initialized" if point == "0" else f"exposure {point}" if point.isdigit() else point
            cell = RowsCell(**where, protocol=settings["protocol"], attack_point=name, attack=attack)
            numbers = {
                "metrics": dict.fromkeys(names, HALF),
                "baselines_by": {rule: dict.fromkeys((*BASELINES, TABLEAK_RANDOM), HALF) for rule in MATCHING_RULES},
                "baselines": dict.fromkeys(("prior", "uniform", "marginal"), HALF),
                "doubt": list(_doubts()),
            }
            cells.append(RowsResult.model_validate(envelope(cell) | numbers))
    return RowsSummary.model_validate(head("rows") | {"cells": cells, "utility": utility})


def _doubts() -> Iterator[DoubtNumbers]:
    for place in range(5):
        yield DoubtNumbers(kind="categorical", low=place / 5, high=(place + 1) / 5, cells=10, attack=HALF)
    for low, high in itertools.pairwise((None, -1.0, 0.72, 1.16, 1.6, 2.04, None)):
        yield DoubtNumbers(kind="numeric", low=low, high=high, cells=10, attack=HALF)


def _vertical(plan: Plan) -> Summary:
    cells, losses = [], []
    for task in plan.tasks:
        settings, where = task.variant.settings, _where(task)
        values = settings.model_dump()
        points = tuple((batches, 0.5) for batches in (0, *values["watch"]))
        rate = values["learning_rate"]
        losses.append(Losses(**where, people=values["people"], learning_rate=rate, points=points))
        for attack in values["attacks"]:
            cell = VerticalCell(
                **where, people=values["people"], batches=values["batches"] or 1, attack_point="initialized",
                attack=attack,
            )  # fmt: skip
            curve = [
                CurvePoint(batches=batches, psnr=Interval(batches / 100, None, None), train_loss=HALF,
                           test_accuracy=HALF)
                for batches in values["watch"]
            ]  # fmt: skip
            metrics = dict.fromkeys(("psnr", "psnr_tiles", "correlation", "emr"), HALF)
            cells.append(VerticalResult.model_validate(envelope(cell) | {"metrics": metrics, "curve": curve}))
    return VerticalSummary.model_validate(head("vertical") | {"cells": cells, "losses": losses})


def _property(plan: Plan) -> Summary:
    cells = []
    for variant in plan.variants:
        values = variant.settings.model_dump()
        cuts = [(classes, "") for classes in values["classes"]]
        cuts += [(max(values["classes"]), hierarchy) for hierarchy in values["hierarchies"]]
        for (classes, hierarchy), loss in itertools.product(cuts, values["losses"]):
            cell = PropertyCell(
                dataset=str(variant.request.data), property_text=values["property_text"], observed="weights",
                classes=classes, loss=loss, reader="paths", hierarchy=hierarchy, variant=variant.name,
            )  # fmt: skip
            numbers = {
                "metrics": dict.fromkeys(("accuracy", "mse", "shadow_accuracy", "shadow_mse"), HALF),
                "confusion": [[1]], "chance": 0.5, "most_frequent": 0.5,
                "guessing_mse": 0.5, "calibration_error": 0.0, "epochs": 1,
            }  # fmt: skip
            cells.append(PropertyResult.model_validate(envelope(cell) | numbers))
    return PropertySummary.model_validate(head("property") | {"cells": cells})


def _training(plan: Plan) -> Summary:
    cells = {}
    every = ((task, each) for task in plan.tasks for each in trainings_of(task.variant.settings, task.choice))
    for task, choice in every:
        cell, _ = cell_of(str(task.variant.request.data), task.variant.settings, choice, task.variant.name)
        numbers = [("quality/published/mean", name, 0.5) for name in ("accuracy", "f1", "roc_auc")]
        for phase in ("pretraining", "fine-tuning"):
            numbers += [(f"cost/{phase}", "seconds", 2.0), (f"cost/{phase}", "epochs", 1.0)]
            numbers += [(f"bytes/{phase}", "intermediate", 7e6), (f"epoch/{phase}/0", "loss", 0.7)]
        numbers += [("cost", "memory_mb", 512.0)]
        values_of = [Value(scope=scope, metric=metric, runs=3, mean=mean) for scope, metric, mean in numbers]
        cells[cell.id] = TrainingResult.model_validate(envelope(cell) | {"metrics": {}, "values": values_of})
    return TrainingSummary.model_validate(head("training") | {"cells": list(cells.values())})


def _where(task: Task) -> dict[str, object]:
    return {"dataset": str(task.variant.request.data), "variant": task.variant.name, **vars(task.choice)}
