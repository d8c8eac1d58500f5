"""Adam, plain or on the signs of the gradient."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from seepage._core import InputError, unknown_name
from seepage.attacks.inversion.optimisers.schedules import SCHEDULES


@dataclass(frozen=True, kw_only=True)
class Adam:
    """Adam with a schedule.

    Args:
        rate: the first step size.
        schedule: ``constant``, ``linear``, ``tenth`` or ``cosine``.
        signed: feed Adam the sign of each gradient entry, as TabLeak and Geiping et al. do.
    """

    rate: float = 0.06
    schedule: str = "linear"
    signed: bool = False

    def __post_init__(self) -> None:
        if not 0 < self.rate < float("inf"):
            raise InputError(f"The attack's step size is {self.rate}; it must be a number above 0.")
        if self.schedule not in SCHEDULES:
            raise unknown_name("schedule", self.schedule, SCHEDULES)

    def begin(self, x: Tensor) -> tuple[Tensor, ...]:
        return torch.zeros_like(x), torch.zeros_like(x)

    def sizes(self, step: int, steps: int) -> tuple[float, ...]:
        """The step size and the small number under it, with Adam's bias corrections folded in."""
        rate = self.rate * SCHEDULES[self.schedule](step, steps)
        root = (1 - 0.999**step) ** 0.5
        return rate * root / (1 - 0.9**step), 1e-8 * root

    def move(self, x: Tensor, slope: Tensor, state: tuple[Tensor, ...], sizes: Tensor, moving: Tensor) -> None:
        first, second = state
        if self.signed:
            slope = slope.sign_()
        first.lerp_(slope, 0.1)
        second.lerp_(slope.square_(), 0.001)
        x.sub_((second.sqrt().add_(sizes[1])).reciprocal_().mul_(first).mul_(sizes[0] * moving))
