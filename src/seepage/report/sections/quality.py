"""What a joint model is worth: six predictors on the latents of every design."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from seepage.report.figure import (
    LABEL_LENGTH,
    Figure,
    axis,
    dots,
    error_bars,
    line_color,
    line_symbol,
    means,
    named_places,
    texts,
)
from seepage.report.section import Section
from seepage.report.trainings import METRICS, VARIANTS, TrainedDesign, trainings_of
from seepage.results.training import TrainingSummary


@dataclass(frozen=True, kw_only=True)
class QualityView:
    """Designs without absent guests, and the headings of their numbers."""

    trainings: tuple[TrainedDesign, ...]
    variants: dict[str, str]
    metrics: dict[str, str]
    predictors: tuple[str, ...]
    figure: Figure


def quality(summary: TrainingSummary) -> QualityView | None:
    """How good latents are; nothing if that was not measured."""
    known = tuple(
        training
        for training in trainings_of(summary)
        if not training.result.failure_probability and training.quality("honest")
    )
    if not known:
        return None
    scopes = dict.fromkeys(value.scope for training in known for value in training.values("quality/honest/"))
    names = (scope.removeprefix("quality/honest/") for scope in scopes)
    return QualityView(
        trainings=known,
        variants=VARIANTS,
        metrics=METRICS,
        predictors=tuple(name for name in names if name != "mean"),
        figure=_figure(known),
    )


def _figure(trainings: Sequence[TrainedDesign]) -> Figure:
    """F1 of every design, measured in both ways."""
    places: list[JsonValue] = list(range(len(trainings)))
    traces = []
    for number, (variant, label) in enumerate(VARIANTS.items()):
        values = [training.quality(variant) for training in trainings]
        bars = error_bars(values, line_color(number))
        hover = "%{x:.3f}<extra>%{fullData.name}</extra>"
        trace = dots(label, line_color(number), line_symbol(2 * number), 10, x=means(values), y=places, error_x=bars)
        traces.append(trace | {"hovertemplate": hover})
    return Figure(
        name="plot-quality",
        description="Dot plot of the mean F1 of six predictors on the latents of every design; the table holds the "
        "numbers.",
        traces=traces,
        x=axis("F1, mean of six predictors", showgrid=True),
        y=named_places(texts((training.label for training in trainings), LABEL_LENGTH)),
        height=130 + 40 * len(trainings),
    )


SECTION = Section(
    name="quality",
    title="What the joint model is worth",
    short="Latent quality",
    studies=(TrainingSummary,),
    place=30,
    view=quality,
)
