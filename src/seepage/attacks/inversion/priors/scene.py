"""What a prior may look at: the adversary's side of one attack."""

from __future__ import annotations

from dataclasses import dataclass

from seepage.models import Learner
from seepage.observation import Exchange, Space


@dataclass(frozen=True, kw_only=True, eq=False)
class PriorScene:
    """The attacked model, inputs and rules of the round.

    Args:
        shared: all observations have the same parameters.
        sets: dummy sets for each client's rows (one per local epoch, or one).
    """

    learner: Learner
    space: Space
    exchange: Exchange
    shared: bool
    sets: int = 1
