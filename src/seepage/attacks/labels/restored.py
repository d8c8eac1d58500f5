"""What a label restorer is, and what it answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from torch import Tensor

from seepage._core import Outcome, Streams
from seepage.observation import Observation


@dataclass(frozen=True, kw_only=True)
class Restored:
    """The labels behind one update, as the adversary believes them to be.

    An update does not know the order of its rows, so class codes come sorted: only how often each class occurs is
    claimed.

    Args:
        outcome: how it ended; labels are there only if the outcome is scored.
        labels: (rows,) int64 class codes in ascending order, or float32 standardised targets.
        exact: a closed form that is right up to float error, not an estimate.
        note: one sentence about how far to trust it, or why there are no labels.
    """

    outcome: Outcome
    labels: Tensor | None = None
    exact: bool = False
    note: str = ""


class Restorer(Protocol):
    """A frozen dataclass of settings that can be called; observations in, one answer for each out."""

    def __call__(self, observations: Sequence[Observation], streams: Streams) -> list[Restored]: ...


def not_applicable(note: str) -> Restored:
    """No labels, and why."""
    return Restored(outcome=Outcome.NOT_APPLICABLE, note=note)
