"""A summary of the study of cohorts, for tests of the report."""

from __future__ import annotations

from collections.abc import Sequence

from seepage.results import ATTACK, CohortsCell, Measure, Record
from seepage.results.cohorts import CHANCE, CohortsSummary, Counted, cohorts_result
from tests.report.example import a_dataset, head_of, trials_of


def a_cohorts_cell(**changes: object) -> CohortsCell:
    """One attack on the sums over cohorts of one size."""
    usual: dict[str, object] = {
        "dataset": "clinic", "protocol": "fedsgd", "model": "mlp", "clients": 20, "rows_each": 4, "cohort_size": 4,
        "rounds": 1, "reads": "rows", "attack": "rows_of_sum",
    }  # fmt: skip
    return CohortsCell(**(usual | changes))  # type: ignore[arg-type]


def cohorts_records(cell: CohortsCell, read: float, chance: float, *, trials: int = 3) -> list[Record]:
    """Several federations."""
    values = {
        Measure(ATTACK, "", "read"): read,
        Measure(ATTACK, "", "gain"): read - chance,
        Measure(ATTACK, "", "certified"): read,
        Measure(ATTACK, "", "certified_wrong"): 0.0,
        Measure(CHANCE, "", "read"): chance,
    }
    return [
        Record(cell=cell, repeat=repeat, rows=16, outcome="ok", seconds=1.0, values=values) for repeat in range(trials)
    ]


def usual_cohorts() -> list[Record]:
    """Rows are read from cohorts of 4, and not from those of 8."""
    owners: dict[str, object] = {"reads": "owners", "attack": "groups", "rounds": 5}
    return [
        *cohorts_records(a_cohorts_cell(), 1.0, 0.0),
        *cohorts_records(a_cohorts_cell(cohort_size=8), 0.0, 0.0),
        *cohorts_records(a_cohorts_cell(**owners), 0.6, 0.25),
        *cohorts_records(a_cohorts_cell(reads="client", attack="difference"), 1.0, 0.0),
    ]


def counted(**changes: object) -> Counted:
    """What counting predicts."""
    usual: dict[str, object] = {
        "dataset": "clinic", "model": "mlp", "protocol": "fedsgd", "rows_each": 4, "rows": 32, "cohort": 8,
        "why": "The layers hold 31 rows apart; a sum over 8 clients of 4 has more.",
    }  # fmt: skip
    return Counted.model_validate(usual | changes)


def a_cohorts_summary(records: Sequence[Record] | None = None, **changes: object) -> CohortsSummary:
    """A summary of the study of cohorts."""
    every = usual_cohorts() if records is None else records
    own: dict[str, object] = {
        "cells": [cohorts_result(trials).model_copy(update={"strongest": ()}) for trials in trials_of(every)],
        "counted": (counted(),),
        "command": "seepage audit cohorts --data clinic",
        "settings": {"seed": 7, "clients": 20, "trials": 3},
        "dataset": a_dataset(),
    }
    return CohortsSummary.model_validate(head_of() | own | changes)
