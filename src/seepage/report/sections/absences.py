"""Absent guests: what the model is worth when guests are away and something stands in for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from seepage.report.figure import Figure, axis, curve, dotted, error_bars, line_color, means, numbers, text
from seepage.report.section import Section
from seepage.report.trainings import TrainedDesign, design_of, trainings_of
from seepage.results.training import TrainingSummary


@dataclass(frozen=True)
class Absences:
    """Trainings with absent guests."""

    trainings: tuple[TrainedDesign, ...]
    figure: Figure | None


def absences(summary: TrainingSummary) -> Absences | None:
    """What absences cost; nothing if nobody was absent."""
    trainings = trainings_of(summary)
    failing = tuple(training for training in trainings if training.result.failure_probability)
    return Absences(failing, _figure(failing, trainings)) if failing else None


def _figure(failing: Sequence[TrainedDesign], trainings: Sequence[TrainedDesign]) -> Figure | None:
    """F1 over the share of absent guests, one line for every design and way to stand in."""
    lines: dict[str, list[TrainedDesign]] = {}
    for training in failing:
        if training.quality("honest"):
            result = training.result
            others = [part for part in (result.dataset, f"{result.guests} guests", result.variant) if part]
            name = ", ".join([design_of(result), result.failure_method])
            same = len({(each.result.dataset, each.result.guests, each.result.variant) for each in failing}) == 1
            lines.setdefault(name if same else ", ".join([name, *others]), []).append(training)
    if not lines:
        return None
    traces = []
    for number, (name, points) in enumerate(lines.items()):
        ordered = sorted(points, key=lambda training: training.result.failure_probability)
        values = [training.quality("honest") for training in ordered]
        shares = numbers((training.result.failure_probability for training in ordered), 100)
        bars = error_bars(values, line_color(number))
        hover = "%{x:.0f} % absent: %{y:.3f}<extra>%{fullData.name}</extra>"
        traces.append(curve(name, number, shares, means(values), error_y=bars, hovertemplate=hover))
    highest = 100 * max(training.result.failure_probability for training in failing)
    designs = {training.result.design for training in failing}
    for training in trainings:
        value = training.quality("honest")
        if value and training.complete and training.result.design in designs:
            name = f"{text(training.label, 40)}, nobody absent"
            traces.append(dotted(name, [0, highest], numbers([value.mean, value.mean])))
    return Figure(
        name="plot-absences",
        description="Line plot of F1 over the share of guests that are absent in an epoch, for every way to stand in "
        "for them; the table holds the numbers.",
        traces=traces,
        x=axis("guests absent in an epoch, %", showgrid=True),
        y=axis("F1, rows the encoder never saw", showgrid=True),
        height=340 + 18 * len(traces),
    )


SECTION = Section(
    name="absences",
    title="What absent guests cost",
    short="Absent guests",
    studies=(TrainingSummary,),
    place=38,
    view=absences,
)
