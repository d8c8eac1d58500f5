"""How training went: the validation loss after every epoch of fine-tuning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from seepage.report.figure import Figure, axis, curve, numbers
from seepage.report.section import Section
from seepage.report.trainings import TrainedDesign, trainings_of
from seepage.results.training import TrainingSummary

_EPOCH = "epoch/fine-tuning/"


@dataclass(frozen=True)
class LossCurve:
    """One setting: epochs, and the loss after each, mean over the runs that were still training."""

    label: str
    points: tuple[tuple[int, float], ...]

    @property
    def best(self) -> tuple[int, float]:
        """The epoch with the lowest loss."""
        return min(self.points, key=lambda point: point[1])


@dataclass(frozen=True)
class Curves:
    """All settings."""

    every: tuple[LossCurve, ...]
    figure: Figure


def curves(summary: TrainingSummary) -> Curves | None:
    """The losses; nothing if there was no fine-tuning."""
    every = tuple(line for training in trainings_of(summary) if (line := _curve(training)).points)
    return Curves(every, _figure(every)) if every else None


def _curve(training: TrainedDesign) -> LossCurve:
    points = [(int(value.scope.removeprefix(_EPOCH)) + 1, value.mean) for value in training.values(_EPOCH)]
    return LossCurve(training.label, tuple(sorted(points)))


def _figure(every: Sequence[LossCurve]) -> Figure:
    traces = []
    for number, line in enumerate(every):
        epochs: list[JsonValue] = [epoch for epoch, _ in line.points]
        mode = "lines" if len(line.points) > 20 else "lines+markers"
        hover = "epoch %{x}: %{y:.3f}<extra>%{fullData.name}</extra>"
        losses = numbers(loss for _, loss in line.points)
        traces.append(curve(line.label, number, epochs, losses) | {"mode": mode, "hovertemplate": hover})
    return Figure(
        name="plot-curves",
        description="Line plot of the cross-entropy on validation rows after every epoch of fine-tuning, mean over the "
        "runs; the table holds where each began, was best and ended.",
        traces=traces,
        x=axis("epoch of fine-tuning", showgrid=True),
        y=axis("validation loss", showgrid=True),
        height=340 + 18 * len(every),
    )


SECTION = Section(
    name="curves", title="How training went", short="Training", studies=(TrainingSummary,), place=58, view=curves
)
