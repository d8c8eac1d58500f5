"""What crosses between the parties, counted in bytes."""

from __future__ import annotations

from dataclasses import dataclass

from seepage.report.section import Section
from seepage.report.trainings import TrainedDesign, trainings_of
from seepage.results.training import TrainingSummary


@dataclass(frozen=True)
class Crossing:
    """One epoch of one phase: bytes by kind of message."""

    label: str
    phase: str
    kinds: dict[str, float]

    @property
    def total(self) -> float:
        return sum(self.kinds.values())


@dataclass(frozen=True)
class Crossings:
    """All of them; designs in which nothing crosses are named, and those that are no federation."""

    every: tuple[Crossing, ...]
    kinds: tuple[str, ...]
    nothing: tuple[str, ...]
    central: tuple[str, ...]


def crossing(summary: TrainingSummary) -> Crossings | None:
    """What crosses; nothing if nothing was trained. Absences change only how much of it is made up."""
    trainings = trainings_of(summary)
    shown = [training for training in trainings if not training.result.failure_probability] or list(trainings)
    if not shown:
        return None
    every = tuple(line for training in shown if training.federated for line in _lines(training))
    sending = {line.label for line in every}
    return Crossings(
        every,
        tuple(dict.fromkeys(kind for line in every for kind in line.kinds)),
        tuple(training.label for training in shown if training.federated and training.label not in sending),
        tuple(training.label for training in shown if not training.federated),
    )


def _lines(training: TrainedDesign) -> list[Crossing]:
    phases: dict[str, dict[str, float]] = {}
    for value in training.values("bytes/"):
        phase = value.scope.removeprefix("bytes/")
        epochs = training.number(f"cost/{phase}", "epochs")
        phases.setdefault(phase, {})[value.metric] = value.mean / max(epochs.mean if epochs else 1.0, 1.0)
    return [Crossing(training.label, phase, kinds) for phase, kinds in phases.items() if any(kinds.values())]


SECTION = Section(
    name="crossing",
    title="What crosses between the parties",
    short="What crosses",
    studies=(TrainingSummary,),
    place=50,
    view=crossing,
)
