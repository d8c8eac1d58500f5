"""Gaussian noise."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from seepage.data import Layout


@dataclass(frozen=True, kw_only=True)
class Gaussian:
    """Normal draws; ``scale`` for numbers and one-hot entries, ``embedded`` for the logits of embedded categories."""

    scale: float = 1.0
    embedded: float = 5.0

    def __call__(self, shape: tuple[int, ...], layout: Layout, generator: torch.Generator) -> Tensor:
        x = torch.randn(shape, generator=generator) * self.scale
        if layout.embedded:
            x[..., layout.numeric :] *= self.embedded / self.scale
        return x
