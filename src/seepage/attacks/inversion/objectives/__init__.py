"""How far a simulated update is from the observed one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from torch import Tensor

from seepage.attacks.inversion.objectives.cosine import Cosine
from seepage.attacks.inversion.objectives.gaussian_kernel import GaussianKernel
from seepage.attacks.inversion.objectives.squared import Squared

Distance = Callable[[Tensor, Tensor], Tensor]  # simulated and observed update, both flat -> one number


class Objective(Protocol):
    """Settings of a distance; ``sizes`` are the lengths of the layers in the flat update."""

    def bind(self, sizes: tuple[int, ...]) -> Distance: ...


__all__ = ["Cosine", "Distance", "GaussianKernel", "Objective", "Squared"]
