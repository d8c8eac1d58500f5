"""Uniform draws."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from seepage.attacks.inversion.categories import Categories
from seepage.observation import Observation


@dataclass(frozen=True, kw_only=True)
class Uniform:
    """Uniform on [low, high]; TabLeak starts on [0, 1]."""

    low: float = 0.0
    high: float = 1.0

    def check(self, categories: Categories) -> None:
        """Nothing is needed."""

    def __call__(self, shape: tuple[int, ...], observation: Observation, generator: torch.Generator) -> Tensor:
        return torch.rand(shape, generator=generator) * (self.high - self.low) + self.low
