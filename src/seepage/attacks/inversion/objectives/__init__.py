"""How far a simulated update is from the observed one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from torch import Tensor

from seepage.attacks.inversion.objectives.cosine import Cosine
from seepage.attacks.inversion.objectives.gaussian_kernel import GaussianKernel
from seepage.attacks.inversion.objectives.squared import Squared


class Objective(Protocol):
    """A distance of updates.

    Both come as lists of tensors. The observed one is divided by its length, which comes along. ``layers`` says whether
    the lists must be one entry per layer; if not, small models come as one flat entry, which is faster.
    """

    @property
    def layers(self) -> bool: ...

    def __call__(self, simulated: Sequence[Tensor], direction: Sequence[Tensor], length: Tensor) -> Tensor: ...


__all__ = ["Cosine", "GaussianKernel", "Objective", "Squared"]
