"""How a client turns slopes into steps: the optimisers of local training, as torch has them.

Each is a function of (weights, slopes, moments), so that many clients step at once and an attacker can replay it.
"""

from __future__ import annotations

from typing import Protocol

from torch import Tensor

from seepage.models.functional import Parameters
from seepage.models.optimisers.adam import Adam, adamw
from seepage.models.optimisers.sgd import SGD

Moments = tuple[Parameters, ...]


class Optimiser(Protocol):
    """Settings of an optimiser that can step."""

    @property
    def memory(self) -> int:
        """Numbers it keeps for each weight between steps."""
        ...

    @property
    def weight_decay(self) -> float:
        """The share of the weights that steps take off them; 0 for none."""
        ...

    @property
    def linear(self) -> bool:
        """Whether a change is a sum of the steps' slopes, each with a number that the server knows."""
        ...

    def step(
        self, weights: Parameters, slopes: Parameters, moments: Moments, rate: Tensor, number: Tensor
    ) -> tuple[Parameters, Moments]:
        """Weights and moments after one step; the first step has the number 1."""
        ...


__all__ = ["SGD", "Adam", "Moments", "Optimiser", "adamw"]
