"""The summary of the study of vertical training: latent quality, cost, what crosses, what parties read."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from seepage.results.cells import Coordinate, TrainingCell, coordinates
from seepage.results.facts import Facts
from seepage.results.interval import Interval
from seepage.results.record import Measure
from seepage.results.result import Result, envelope
from seepage.results.summary import Summary, show
from seepage.results.trials import Trials

MODEL = "model"  # the source of numbers that are about a trained model
READ, GUESSED = "cells read by the host", "guessing"
LABEL_WAYS = ("AUC by direction", "AUC by norm")


class Value(Facts):
    """One number of a training: ``scope`` says of what (``quality/published/XGBoost``), ``metric`` which (``f1``)."""

    scope: str
    metric: str
    runs: int
    mean: float
    low: float | None = None
    high: float | None = None


class TrainingResult(Result):
    """One design with its guests, phases and failures. A trial is a training with another split and other seeds.
    ``metrics`` holds the quality of the latent over six predictors: ``f1``, ``accuracy`` and ``roc_auc`` on rows the
    encoder never saw, and ``f1_published`` as the thesis measures it."""

    design: str
    guests: int
    phases: str = "both"
    failure_probability: float = 0.0
    failure_method: str = "none"
    values: Annotated[tuple[Value, ...], Field(description="every number, by scope and metric")]

    def value(self, scope: str, metric: str) -> Value | None:
        """One number; None where it was not measured."""
        return next((each for each in self.values if (each.scope, each.metric) == (scope, metric)), None)

    def mean(self, scope: str, metric: str) -> float | None:
        """Its mean."""
        found = self.value(scope, metric)
        return None if found is None else found.mean

    @property
    def may_hide(self) -> bool:
        """A run's number is a mean over all rows of the table, so no run hides what the others show."""
        return False

    @property
    def place(self) -> dict[str, Coordinate]:
        names = (name for name in TrainingCell.__dataclass_fields__ if name != "study")
        return coordinates(TrainingCell(**{name: getattr(self, name) for name in names}))


class TrainingSummary(Summary):
    """Models over columns at several parties: what they are worth, and what the parties read of each other."""

    study: Literal["training"] = "training"
    apart: Annotated[
        tuple[str, ...], Field(description="guests on other machines; empty where all parties ran in one process")
    ] = ()
    cells: tuple[TrainingResult, ...]

    def lines(self) -> tuple[list[str], list[list[str]]]:
        headings = ["design", "guests", "phases", "absent", "runs", "F1", "F1, unseen rows", "ROC-AUC, unseen rows"]
        return headings, [
            [
                cell.design,
                str(cell.guests),
                cell.phases,
                f"{cell.failure_probability:g} {cell.failure_method}" if cell.failure_probability else "-",
                str(cell.trials),
                *(show(cell.metrics.get(name)) for name in ("f1_published", "f1", "roc_auc")),
            ]
            for cell in self.cells
        ]


_QUALITY = {
    "f1": ("quality/honest/mean", "f1"),
    "accuracy": ("quality/honest/mean", "accuracy"),
    "roc_auc": ("quality/honest/mean", "roc_auc"),
    "f1_published": ("quality/published/mean", "f1"),
}


def training_result(trials: Trials) -> TrainingResult:
    """The numbers of one design over its runs."""
    values = []
    for measure in trials.measures:
        found = trials.interval(measure)
        if found is not None:
            runs = int(np.isfinite(trials.column(measure)).sum())
            values.append(
                Value(
                    scope=measure.scope,
                    metric=measure.metric,
                    runs=runs,
                    mean=found.mean,
                    low=found.low,
                    high=found.high,
                )
            )
    return TrainingResult.model_validate(
        coordinates(trials.cell)
        | envelope(trials)
        | {
            "metrics": {name: trials.interval(Measure(MODEL, *where)) for name, where in _QUALITY.items()},
            "judged": {"gain": _beyond_guessing(trials)},
            "strongest": (),  # every check of parties is made in every run
            "values": tuple(values),
        }
    )


def _beyond_guessing(trials: Trials) -> Interval | None:
    """The most that a party reads of another beyond guessing; None if that was not measured.

    Of the guests' cells what the host reads, by the better of its two ways; of the labels what guests tell from
    gradients, as twice the AUC minus 1, which is 0 for guessing and 1 for all of them.
    """
    scope = f"privacy/{READ}"
    ways = ("as sent", "with as many known rows as columns")
    gains = trials.differences([(Measure(MODEL, scope, way), Measure(MODEL, scope, GUESSED)) for way in ways])
    told = [trials.interval(Measure(MODEL, "privacy/labels from gradients", way)) for way in LABEL_WAYS]
    gains += [None if auc is None else Interval(*map(_advantage, (auc.mean, auc.low, auc.high))) for auc in told]  # type: ignore[arg-type]
    known = [gain for gain in gains if gain is not None]
    return max(known, key=lambda gain: gain.mean if gain.high is None else gain.high, default=None)


def _advantage(auc: float | None) -> float | None:
    return None if auc is None else 2 * auc - 1
