"""What makes rows likely, beside the update: terms that are added to the objective."""

from __future__ import annotations

from typing import Protocol

from torch import Tensor

from seepage.attacks.inversion.priors.batch_statistics import BatchStatistics
from seepage.attacks.inversion.priors.epoch_consistency import EpochConsistency
from seepage.attacks.inversion.priors.group_consistency import GroupConsistency
from seepage.attacks.inversion.priors.marginals import Marginals
from seepage.attacks.inversion.priors.scene import PriorScene


class Prior(Protocol):
    """Inputs (observations, restarts, rows, width) to a penalty (observations, restarts).

    ``check`` stops with a sentence when the rest of the attack contradicts the prior; ``lacks`` says why the prior has
    nothing to hold on to in a scene, or nothing.
    """

    def check(self, restarts: int) -> None: ...

    def lacks(self, scene: PriorScene) -> str: ...

    def __call__(self, inputs: Tensor, parameters: dict[str, Tensor], scene: PriorScene) -> Tensor: ...


__all__ = ["BatchStatistics", "EpochConsistency", "GroupConsistency", "Marginals", "Prior", "PriorScene"]
