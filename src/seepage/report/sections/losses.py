"""What each defence of vertical learning costs: the training loss with what the workers send."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from seepage.report import words
from seepage.report.figure import Figure, axis, curve, numbers
from seepage.report.section import Section
from seepage.results.vertical import Losses, VerticalSummary

_TRAINED = ("dataset", "model", "people", "batch_size", "defense", "learning_rate", "variant")


@dataclass(frozen=True)
class LossLine:
    """Training with one defence: batches seen, and the loss then."""

    label: str
    points: tuple[tuple[int, float], ...]

    @property
    def halfway(self) -> float:
        return self.points[len(self.points) // 2][1]


@dataclass(frozen=True)
class LossView:
    """All trainings."""

    lines: tuple[LossLine, ...]
    figure: Figure


def losses(summary: VerticalSummary) -> LossView | None:
    """The training losses; nothing if none was measured."""
    known = [entry for entry in summary.losses if entry.points]
    if not known:
        return None
    places = [{name: getattr(entry, name) for name in _TRAINED} for entry in known]
    names = words.varying(places, otherwise=("defense",))
    lines = tuple(
        LossLine(words.label(place, names), _finite(entry)) for place, entry in zip(places, known, strict=True)
    )
    return LossView(lines, _figure(lines))


def _finite(entry: Losses) -> tuple[tuple[int, float], ...]:
    """The points of a curve; a loss that was infinite has none."""
    return tuple((batches, loss) for batches, loss in entry.points if loss is not None)


def _figure(lines: Sequence[LossLine]) -> Figure:
    last = max(seen for line in lines for seen, _ in line.points)
    traces = []
    for number, line in enumerate(lines):
        seen: list[JsonValue] = [batches for batches, _ in line.points]
        values = numbers(loss for _, loss in line.points)
        hover = "%{x} batches: loss %{y:.3f}<extra>%{fullData.name}</extra>"
        traces.append(curve(line.label, number, seen, values, hovertemplate=hover))
    return Figure(
        name="plot-losses",
        description=f"Line plot of the training loss over {words.plural(last, 'batch', 'batches')}, one line for each "
        f"defence: {', '.join(line.label for line in lines)}. The table below holds the same numbers.",
        traces=traces,
        x=axis("batches trained on", showgrid=True),
        y=axis("training loss", showgrid=True),
        height=360,
    )


SECTION: Section[VerticalSummary] = Section(
    name="losses",
    title="What each defence costs",
    short="Cost of defences",
    studies=(VerticalSummary,),
    place=68,
    view=losses,
)
