"""Gaussian noise."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from seepage.attacks.inversion.categories import Categories
from seepage.observation import Observation


@dataclass(frozen=True, kw_only=True)
class Gaussian:
    """Normal draws; ``scale`` for numbers and one-hot entries, ``embedded`` for the logits of embedded categories."""

    scale: float = 1.0
    embedded: float = 5.0

    def check(self, categories: Categories) -> None:
        """Nothing is needed."""

    def __call__(self, shape: tuple[int, ...], observation: Observation, generator: torch.Generator) -> Tensor:
        x = torch.randn(shape, generator=generator)
        numeric = observation.layout.numeric
        x[..., :numeric] *= self.scale
        x[..., numeric:] *= self.embedded if observation.layout.embedded else self.scale
        return x
