"""Stochastic gradient descent, with momentum and weight decay as torch's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from seepage._core import InputError
from seepage.models.functional import Parameters


@dataclass(frozen=True, kw_only=True)
class SGD:
    """``torch.optim.SGD`` without dampening.

    Args:
        momentum: share of the last step's direction that is kept; 0 keeps nothing.
        nesterov: look ahead along the momentum.
        weight_decay: a share of the weights that is added to their slopes.

    Example:
        >>> SGD(momentum=0.9).memory
        1
    """

    momentum: float = 0.0
    nesterov: bool = False
    weight_decay: float = 0.0

    linear: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not 0 <= self.momentum < 1:
            raise InputError(f"The momentum is {self.momentum:g}; it must be 0 or above and below 1.")
        if self.nesterov and not self.momentum:
            raise InputError("Nesterov's step needs a momentum above 0.")
        if self.weight_decay < 0:
            raise InputError(f"The weight decay is {self.weight_decay:g}; it must be 0 or above.")

    @property
    def memory(self) -> int:
        """The direction, where there is momentum."""
        return int(self.momentum > 0)

    def step(
        self, weights: Parameters, slopes: Parameters, moments: tuple[Parameters, ...], rate: Tensor, number: Tensor
    ) -> tuple[Parameters, tuple[Parameters, ...]]:
        """One step of descent."""
        if self.weight_decay:
            slopes = {name: slope + self.weight_decay * weights[name] for name, slope in slopes.items()}
        if not self.momentum:
            return {name: value - rate * slopes[name] for name, value in weights.items()}, ()
        way = {name: self.momentum * moments[0][name] + slope for name, slope in slopes.items()}
        used = {name: slope + self.momentum * way[name] for name, slope in slopes.items()} if self.nesterov else way
        return {name: value - rate * used[name] for name, value in weights.items()}, (way,)
