"""Where the variables start."""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor

from seepage.attacks.inversion.starts.gaussian import Gaussian
from seepage.attacks.inversion.starts.uniform import Uniform
from seepage.data import Layout


class Start(Protocol):
    """Draws the first variables."""

    def __call__(self, shape: tuple[int, ...], layout: Layout, generator: torch.Generator) -> Tensor: ...


__all__ = ["Gaussian", "Start", "Uniform"]
