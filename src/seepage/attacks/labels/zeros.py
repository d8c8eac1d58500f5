"""Labels that are taken to be zero: what an attacker has who does not ask the update."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from seepage._core import Outcome, Streams
from seepage.attacks.labels.restored import Restored
from seepage.observation import Observation


@dataclass(frozen=True, kw_only=True)
class Zeros:
    """Every row has the first class, or the target zero.

    The profiling study's public code puts zeros where labels are not known, and searches for rows beside them. The
    update says more than that: ``counts`` reads how often each class occurs.

    References:
        Nilsson et al., Profiling privacy preservation, 2026 (the profiling study), and its code,
        scaleoutsystems/tabular-GIA.

    Example:
        >>> Zeros()
        Zeros()
    """

    def __call__(self, observations: Sequence[Observation], streams: Streams) -> list[Restored]:
        return [self._restored(observation) for observation in observations]

    @staticmethod
    def _restored(observation: Observation) -> Restored:
        kind = torch.float32 if observation.learner.task == "regression" else torch.int64
        labels = torch.zeros(observation.exchange.rows, dtype=kind)
        return Restored(outcome=Outcome.OK, labels=labels, note="All labels are taken to be zero.")
