"""Where the variables start."""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor

from seepage.attacks.inversion.categories import Categories
from seepage.attacks.inversion.starts.coded import Coded
from seepage.attacks.inversion.starts.gaussian import Gaussian
from seepage.attacks.inversion.starts.inside import Inside
from seepage.attacks.inversion.starts.marginals import FromMarginals
from seepage.attacks.inversion.starts.uniform import Uniform
from seepage.observation import Observation


class Start(Protocol):
    """Draws the first variables. ``check`` stops with a sentence when categories are not what it sets."""

    def check(self, categories: Categories) -> None: ...

    def __call__(self, shape: tuple[int, ...], observation: Observation, generator: torch.Generator) -> Tensor: ...


__all__ = ["Coded", "FromMarginals", "Gaussian", "Inside", "Start", "Uniform"]
