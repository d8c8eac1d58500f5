"""Ablations: what each part of a design is worth, beside the complete one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from seepage.report.section import Section
from seepage.report.trainings import TrainedDesign, design_of, trainings_of
from seepage.results import Interval
from seepage.results.training import TrainingSummary

WITHOUT = {"tabvfl_without_fc": "tabvfl", "guest_decoders": "tabvfl"}  # a design that is another one, changed


@dataclass(frozen=True, kw_only=True)
class Ablation:
    """A changed design beside the complete one: F1 on rows the encoder never saw, and as published."""

    label: str
    of: str
    changed: dict[str, Interval | None]
    complete: dict[str, Interval | None]

    def change(self, variant: str) -> str:
        """What the change costs or brings, in F1."""
        first, second = self.complete[variant], self.changed[variant]
        return "–" if first is None or second is None else f"{second.mean - first.mean:+.3f}".replace("-", "−")


@dataclass(frozen=True)
class Ablations:
    """All of them."""

    every: tuple[Ablation, ...]


def ablations(summary: TrainingSummary) -> Ablations | None:
    """Changed designs whose complete one was trained too; nothing if there is none."""
    trainings = [training for training in trainings_of(summary) if not training.result.failure_probability]
    every = []
    for training in trainings:
        base = _base(training, trainings)
        if base is not None:
            every.append(
                Ablation(
                    label=training.label,
                    of=design_of(base.result),
                    changed={name: training.quality(name) for name in ("honest", "published")},
                    complete={name: base.quality(name) for name in ("honest", "published")},
                )
            )
    return Ablations(tuple(every)) if every else None


def _base(training: TrainedDesign, trainings: Sequence[TrainedDesign]) -> TrainedDesign | None:
    """The complete design that this one is a change of."""
    result = training.result
    if training.complete and result.design not in WITHOUT:
        return None
    design = result.design if result.phases != "both" else WITHOUT[result.design]
    where = (result.dataset, result.guests, result.variant)
    for other in trainings:
        place = (other.result.dataset, other.result.guests, other.result.variant)
        if other.complete and other.result.design == design and place == where:
            return other
    return None


SECTION = Section(
    name="ablations",
    title="What each part of a design is worth",
    short="Ablations",
    studies=(TrainingSummary,),
    place=34,
    view=ablations,
)
