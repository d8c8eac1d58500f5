"""Adam, and AdamW, which keeps weight decay out of the moments; as torch's."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from seepage._core import InputError
from seepage.models.functional import Parameters


@dataclass(frozen=True, kw_only=True)
class Adam:
    """``torch.optim.Adam``; with ``decoupled`` decay ``torch.optim.AdamW``.

    Args:
        beta1, beta2: how much of the mean slope, and of the mean square, is kept.
        epsilon: added to the root of the mean square.
        weight_decay: a share of the weights that is added to their slopes, or taken off them in each step.
        decoupled: weights decay beside the step, not in it.

    References:
        Kingma and Ba, Adam, ICLR 2015; Loshchilov and Hutter, Decoupled Weight Decay Regularization, ICLR 2019.

    Example:
        >>> Adam().memory
        2
    """

    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8
    weight_decay: float = 0.0
    decoupled: bool = False

    linear: ClassVar[bool] = False
    memory: ClassVar[int] = 2

    def __post_init__(self) -> None:
        for name in ("beta1", "beta2"):
            if not 0 <= getattr(self, name) < 1:
                raise InputError(f"Adam's {name} is {getattr(self, name):g}; it must be 0 or above and below 1.")
        if not 0 < self.epsilon < math.inf:
            raise InputError(f"Adam's epsilon is {self.epsilon:g}; it must be above 0.")
        if self.weight_decay < 0:
            raise InputError(f"The weight decay is {self.weight_decay:g}; it must be 0 or above.")

    def step(
        self, weights: Parameters, slopes: Parameters, moments: tuple[Parameters, ...], rate: Tensor, number: Tensor
    ) -> tuple[Parameters, tuple[Parameters, ...]]:
        """One step along the mean slope, in units of its own size."""
        if self.weight_decay and self.decoupled:
            weights = {name: value * (1 - rate * self.weight_decay) for name, value in weights.items()}
        elif self.weight_decay:
            slopes = {name: slope + self.weight_decay * weights[name] for name, slope in slopes.items()}
        mean = {name: self.beta1 * moments[0][name] + (1 - self.beta1) * slope for name, slope in slopes.items()}
        square = {name: self.beta2 * moments[1][name] + (1 - self.beta2) * slope**2 for name, slope in slopes.items()}
        first, second = 1 - self.beta1**number, 1 - self.beta2**number
        stepped = {
            name: value - rate * (mean[name] / first) / (_root(square[name] / second) + self.epsilon)
            for name, value in weights.items()
        }
        return stepped, (mean, square)


def _root(square: Tensor) -> Tensor:
    """The root, with slope 0 at 0: entries that no row touches stay there, and an attacker differentiates this."""
    there = square > 0
    return torch.where(there, torch.where(there, square, 1.0).sqrt(), 0.0)


def adamw() -> Adam:
    """AdamW with torch's weight decay.

    Example:
        >>> adamw().decoupled
        True
    """
    return Adam(weight_decay=0.01, decoupled=True)
