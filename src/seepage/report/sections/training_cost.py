"""What trainings cost: epochs, seconds, memory."""

from __future__ import annotations

from dataclasses import dataclass

from seepage.report.section import Section
from seepage.report.trainings import TrainedDesign, trainings_of
from seepage.results.training import TrainingSummary


@dataclass(frozen=True)
class TrainingCost:
    """Every setting; a phase that was not run has no numbers."""

    trainings: tuple[TrainedDesign, ...]
    where: str
    phases: tuple[str, ...] = ("pretraining", "fine-tuning")

    def shown(self, training: TrainedDesign, scope: str, metric: str) -> str:
        """A mean, as short as it can be."""
        value = training.number(scope, metric)
        if value is None:
            return "–"
        return f"{value.mean:,.0f}" if value.mean >= 10 or value.mean == round(value.mean) else f"{value.mean:.2g}"


def training_cost(summary: TrainingSummary) -> TrainingCost | None:
    """The cost of every setting."""
    trainings = trainings_of(summary)
    where = (
        "Parties on their own machines; seconds and memory are the host's"
        if summary.apart
        else "All parties in one process"
    )
    return TrainingCost(trainings, where) if trainings else None


SECTION = Section(
    name="training_cost",
    title="What it costs to train",
    short="Cost",
    studies=(TrainingSummary,),
    place=54,
    view=training_cost,
)
