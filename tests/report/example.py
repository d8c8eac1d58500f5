"""A realistic summary for the tests of the report, made the way an audit makes one: records, then cells."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from seepage._core import Streams
from seepage.results import (
    ATTACK,
    BASELINES,
    SCHEMA_VERSION,
    WHOLE,
    Cell,
    Measure,
    Record,
    Summary,
    summarise_cells,
)

COLUMNS: list[dict[str, Any]] = [
    {"name": "age", "kind": "numeric", "cardinality": None, "sensitive": False},
    {"name": "diagnosis", "kind": "categorical", "cardinality": 12, "sensitive": True},
    {"name": "blood_pressure", "kind": "numeric", "cardinality": None, "sensitive": False},
    {"name": "smoker", "kind": "binary", "cardinality": 2, "sensitive": True},
    {"name": "ward", "kind": "categorical", "cardinality": 7, "sensitive": False},
    {"name": "length_of_stay", "kind": "numeric", "cardinality": None, "sensitive": False},
]
GUESSES = {"prior": 0.56, "uniform": 0.24, "marginal": 0.41}
METRICS = ("accuracy_num", "accuracy_cat", "emr_90", "emr_80", "rmse", "nearest_distance", "likelihood_num",
           "likelihood_cat", "accuracy_tableak")  # fmt: skip


def a_cell(**changes: Any) -> Cell:
    """One tested setting; name the coordinates that differ."""
    usual = {
        "dataset": "clinic", "protocol": "fedsgd", "model": "mlp", "batch_size": 8,
        "attack_point": "untrained", "attack": "tableak", "defense": "none",
    }  # fmt: skip
    return Cell(**(usual | changes))


def a_record(
    cell: Cell,
    *,
    repeat: int = 0,
    client: int = 0,
    accuracy: float = 0.9,
    exact: float = 0.675,
    rows: int = 8,
    outcome: str = "ok",
    exposure: float = 0.0,
    columns: Sequence[dict[str, Any]] = COLUMNS,
    guesses: dict[str, float] = GUESSES,
) -> Record:
    """One attacked batch. An outcome other than ``ok`` and ``budget_spent`` has nothing to score."""
    random = Streams(3).child(cell.id).numpy(repeat, client)
    near: Callable[[float], float] = lambda centre: min(max(centre + random.normal(0, 0.03), 0.0), 1.0)  # noqa: E731
    values: dict[Measure, float] = {}
    if outcome in ("ok", "budget_spent"):
        numeric = any(column["kind"] == "numeric" for column in columns)
        values[Measure(ATTACK, WHOLE, "accuracy")] = 1.0 if exact == 1 else near(accuracy)
        values[Measure(ATTACK, WHOLE, "emr")] = math.floor(exact * rows + random.uniform()) / rows
        for name in METRICS:
            absent = not numeric and (name.endswith("_num") or name == "rmse")
            values[Measure(ATTACK, WHOLE, name)] = float("nan") if absent else near(accuracy)
        for name in BASELINES:
            values[Measure(name, WHOLE, "accuracy")] = near(guesses[name])
        for place, column in enumerate(columns):
            values[Measure(ATTACK, column["name"], "accuracy")] = near(accuracy - 0.06 * (place % 5))
            for name in BASELINES:
                values[Measure(name, column["name"], "accuracy")] = near(guesses[name] + 0.05 * (place % 3))
    return Record(
        cell=cell, repeat=repeat, client=client, round=0, exposure=exposure, rows=rows, outcome=outcome,
        seconds=1.5, values=values,
    )  # fmt: skip


def records_of(cell: Cell, trials: int = 10, **settings: Any) -> list[Record]:
    """Several attacked batches of one setting."""
    return [a_record(cell, repeat=trial // 5, client=trial % 5, **settings) for trial in range(trials)]


LEVELS = {1: (0.99, 1.0), 8: (0.9, 0.675), 32: (0.68, 0.06)}
POINTS = {"untrained": (0.0, 0.0), "best": (6.5, -0.12)}


def usual_records() -> Iterator[Record]:
    """Three batch sizes, two moments, two attacks; one setting fails, and one attack fails now and then."""
    for batch, (accuracy, exact) in LEVELS.items():
        for point, (exposure, less) in POINTS.items():
            cell = a_cell(batch_size=batch, attack_point=point)
            yield from records_of(
                cell, rows=batch, accuracy=accuracy + less, exact=max(exact + 2 * less, 0), exposure=exposure
            )
            cell = a_cell(batch_size=batch, attack_point=point, attack="exact")
            if batch == 32:
                yield from records_of(cell, rows=batch, outcome="not_applicable", exposure=exposure)
            else:
                yield from records_of(cell, 8, rows=batch, accuracy=accuracy - 0.3, exact=0.125, exposure=exposure)
                yield from records_of(cell, 2, rows=batch, outcome="diverged", exposure=exposure)


def a_utility(batch: int, point: str, repeat: int, validation: dict[str, float | None]) -> dict[str, Any]:
    """Model quality at one moment of one repeat."""
    exposure = POINTS.get(point, (1.0, 0.0))[0]
    entry: dict[str, Any] = {
        "protocol": "fedsgd", "model": "mlp", "batch_size": batch, "attack_point": point, "repeat": repeat,
        "round": round(40 * exposure) + repeat,
        "exposure": {"min": exposure, "mean": exposure, "max": exposure}, "validation": validation,
    }  # fmt: skip
    return entry | ({"test": dict(validation)} if point == "best" else {})


def usual_utility() -> list[dict[str, Any]]:
    """Two repeats of every batch size and moment of ``usual_records``."""
    return [
        a_utility(batch, point, repeat, {"loss": 0.7 - lift, "accuracy": 0.5 + lift, "roc_auc": 0.52 + 1.1 * lift})
        for batch in LEVELS
        for point, lift in (("untrained", 0.0), ("best", 0.32 - 0.002 * batch))
        for repeat in range(2)
    ]


def a_summary(
    records: Sequence[Record] | None = None, columns: Sequence[dict[str, Any]] = COLUMNS, **changes: Any
) -> Summary:
    """A whole summary; ``changes`` replace fields of the document."""
    cells = summarise_cells(list(usual_records()) if records is None else records, columns)
    document = {
        "schema_version": SCHEMA_VERSION,
        "name": "clinic-2031",
        "path": None,
        "seed": 7,
        "versions": {
            "seepage": "0.1.0",
            "python": "3.11.9",
            "torch": "2.13.0",
            "numpy": "2.4.6",
            "polars": "2.1.0",
        },
        "settings": {
            "batch_sizes": [1, 8, 32],
            "deviation": "client",
            "schema": {"categories": ["SECRET-7731"]},
        },
        "command": "seepage audit --data clinic --batch-size 1,8,32 --seed 7",
        "dataset": a_dataset(columns),
        "threat_model": {
            "adversary": ["An honest-but-curious server that follows the protocol and keeps what it receives."],
            "sees": ["The global model before each round.", "Every client's update, one client at a time."],
            "knows": ["The columns' names, kinds, categories and ranges.", "The batch size.", "The labels."],
            "does_not_know": ["Any row.", "The clients' means and standard deviations."],
        },
        "cells": cells,
        "utility": usual_utility() if records is None else [],
        "not_tested": [
            "Secure aggregation.",
            "A server that changes the model to make it leak more.",
            "Defences.",
        ],
    }
    return Summary(document | changes)


def a_dataset(columns: Sequence[dict[str, Any]] = COLUMNS, task: str = "binary") -> dict[str, Any]:
    """The data set's part of a summary."""
    return {
        "name": "clinic", "rows": 12000, "target": "died", "task": task, "columns": list(columns),
        "dropped": [{"name": "patient_id", "reason": "a different value in every row"}],
        "notes": ["3 % of the cells were empty."],
    }  # fmt: skip


def many_columns(amount: int = 220) -> list[dict[str, Any]]:
    """A wide table."""
    kinds = ("numeric", "categorical", "binary")
    cardinality = (None, 9, 2)
    return [
        {
            "name": f"measurement_{i:03d}",
            "kind": kinds[i % 3],
            "cardinality": cardinality[i % 3],
            "sensitive": i % 40 == 3,
        }
        for i in range(amount)
    ]
