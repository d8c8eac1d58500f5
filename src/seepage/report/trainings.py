"""Trainings over several parties' columns: what a design is called, and its numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from seepage.report import words
from seepage.results import Interval
from seepage.results.training import GUESSED, READ, TrainingResult, TrainingSummary, Value

DESIGNS = {
    "central": "central TabNet (CT)",
    "local": "local TabNets (LT)",
    "local_encoders": "encoders at the guests (TabVFL-LE)",
    "tabvfl": "TabVFL",
    "tabvfl_without_fc": "TabVFL without the square layer",
    "guest_decoders": "TabVFL with decoders at the guests",
}
METRICS = {"accuracy": "accuracy", "f1": "F1", "roc_auc": "ROC AUC"}
VARIANTS = {"published": "as published", "honest": "rows the encoder never saw"}
_ELSEWHERE = ("dataset", "guests", "variant")  # what else may tell trainings apart


@dataclass(frozen=True, kw_only=True)
class TrainedDesign:
    """All runs of one setting."""

    label: str
    result: TrainingResult

    def number(self, scope: str, metric: str) -> Interval | None:
        """A mean with its interval; None where nothing was measured."""
        value = self.result.value(scope, metric)
        return None if value is None else Interval(value.mean, value.low, value.high)

    def quality(self, variant: str, metric: str = "f1") -> Interval | None:
        """The mean of six predictors on the latent: ``published`` or ``honest``."""
        return self.number(f"quality/{variant}/mean", metric)

    def values(self, prefix: str) -> Iterator[Value]:
        """All numbers whose scope begins so."""
        return (value for value in self.result.values if value.scope.startswith(prefix))

    @property
    def complete(self) -> bool:
        """Whether nobody was absent and no phase was left out."""
        return not self.result.failure_probability and self.result.phases == "both"

    @property
    def federated(self) -> bool:
        """Whether there are parties at all: the central design has all columns in one place, to compare with."""
        return self.result.design != "central"

    @property
    def read(self) -> Interval | None:
        """The share of the guests' cells that the host reads, by the better of its ways; None if not measured."""
        known = [value for value in (self.read_as_sent, self.read_with_rows) if value]
        return max(known, key=lambda value: value.mean, default=None)

    @property
    def read_as_sent(self) -> Interval | None:
        """What the host reads without knowing any row."""
        return self.number(f"privacy/{READ}", "as sent")

    @property
    def read_with_rows(self) -> Interval | None:
        """What the host reads when it knows as many rows as a guest has columns."""
        return self.number(f"privacy/{READ}", "with as many known rows as columns")

    @property
    def guessed(self) -> Interval | None:
        """What guessing gets of the same cells."""
        return self.number(f"privacy/{READ}", GUESSED)

    @property
    def labels_read(self) -> Interval | None:
        """How well a guest tells the labels from gradients, as an AUC, by the better of its ways."""
        best = max(self.values("privacy/labels from gradients"), key=lambda value: value.mean, default=None)
        return None if best is None else Interval(best.mean, best.low, best.high)


def trainings_of(summary: TrainingSummary) -> tuple[TrainedDesign, ...]:
    """Every setting, named by its design and what else differs."""
    places = [{name: cell.place[name] for name in _ELSEWHERE} for cell in summary.cells]
    names = words.varying(places)
    return tuple(
        TrainedDesign(
            label=", ".join([_name(cell), *(words.coordinate(name, place[name]) for name in names)]), result=cell
        )
        for place, cell in zip(places, summary.cells, strict=True)
    )


def design_of(result: TrainingResult) -> str:
    """The design in words."""
    return DESIGNS.get(result.design, result.design)


def _name(cell: TrainingResult) -> str:
    parts = [design_of(cell)]
    if cell.phases != "both":
        parts.append(cell.phases)
    if cell.failure_probability:
        parts.append(f"{cell.failure_method} at {words.percent(cell.failure_probability)} absent")
    return ", ".join(parts)
