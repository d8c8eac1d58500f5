"""FedAvgM: the server keeps moving in the direction of earlier rounds."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from seepage._core import InputError
from seepage.models import Parameters


@dataclass(frozen=True, kw_only=True)
class Momentum:
    """Server momentum.

    Args:
        rate: of the server.
        momentum: share of the last direction that is kept.

    References:
        Hsu et al., Measuring the Effects of Non-Identical Data Distribution for Federated Visual Classification, 2019.
    """

    rate: float = 1.0
    momentum: float = 0.9

    def __post_init__(self) -> None:
        if not self.rate > 0 or not 0 <= self.momentum < 1:
            raise InputError(
                f"The server's rate is {self.rate:g} and its momentum {self.momentum:g}; the rate must be above 0, the "
                "momentum 0 or above and below 1."
            )

    def fresh(self, weights: Parameters) -> tuple[Parameters, ...]:
        """No direction yet."""
        return ({name: torch.zeros_like(value) for name, value in weights.items()},)

    def step(
        self, weights: Parameters, change: Parameters, memory: tuple[Parameters, ...]
    ) -> tuple[Parameters, tuple[Parameters, ...]]:
        """The next model, and the direction."""
        way = {name: self.momentum * memory[0][name] + value for name, value in change.items()}
        return {name: value + self.rate * way[name] for name, value in weights.items()}, (way,)
