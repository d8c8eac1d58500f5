"""What the parties read of each other, from the messages that cross anyway."""

from __future__ import annotations

from dataclasses import dataclass

from seepage.report.section import Section
from seepage.report.trainings import TrainedDesign, trainings_of
from seepage.results.training import TrainingSummary

_HEADINGS = {
    ("cells read by the host", "as sent"): "Guests' cells that the host reads as they are sent",
    ("cells read by the host", "with as many known rows as columns"): "The same, knowing as many rows as columns",
    ("cells read by the host", "guessing"): "The same cells by guessing",
    ("binary columns found", "share of categories"): "Categories that the host finds as columns of zeros and ones",
    ("labels from gradients", "AUC by direction"): "Labels that a guest tells by the gradient's direction, AUC",
    ("labels from gradients", "AUC by norm"): "Labels that a guest tells by the gradient's size, AUC",
}
Key = tuple[str, str]


@dataclass(frozen=True, kw_only=True)
class PartiesRead:
    """Every check of every design that has parties."""

    trainings: tuple[TrainedDesign, ...]
    checks: dict[Key, str]

    def scope(self, check: Key) -> str:
        """Where the numbers of a check are."""
        return f"privacy/{check[0]}"

    def is_share(self, check: Key) -> bool:
        """Whether it is a share of cells, and not an AUC."""
        return not check[1].startswith("AUC")


def parties_read(summary: TrainingSummary) -> PartiesRead | None:
    """What was read; nothing if it was not measured."""
    known = tuple(
        training for training in trainings_of(summary) if training.federated and any(training.values("privacy/"))
    )
    if not known:
        return None
    checks = dict.fromkeys(
        (value.scope.removeprefix("privacy/"), value.metric)
        for training in known
        for value in training.values("privacy/")
    )
    ordered = sorted(checks, key=lambda check: list(_HEADINGS).index(check) if check in _HEADINGS else len(_HEADINGS))
    return PartiesRead(
        trainings=known, checks={check: _HEADINGS.get(check, f"{check[0]}: {check[1]}") for check in ordered}
    )


SECTION = Section(
    name="parties_read",
    title="What the parties read of each other",
    short="What parties read",
    studies=(TrainingSummary,),
    place=20,
    view=parties_read,
)
