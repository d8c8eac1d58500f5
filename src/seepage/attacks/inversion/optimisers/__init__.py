"""How the variables move."""

from __future__ import annotations

from typing import Protocol

from torch import Tensor

from seepage.attacks.inversion.optimisers.adam import Adam
from seepage.attacks.inversion.optimisers.schedules import constant, cosine, linear

__all__ = ["Adam", "Optimiser", "constant", "cosine", "linear"]


class Optimiser(Protocol):
    """A pure first-order rule over a tensor of any shape."""

    def begin(self, x: Tensor) -> tuple[Tensor, ...]:
        """The first state."""
        ...

    def sizes(self, step: int, steps: int) -> tuple[float, ...]:
        """What changes from step to step (from 1), as plain numbers."""
        ...

    def move(self, x: Tensor, slope: Tensor, state: tuple[Tensor, ...], sizes: Tensor) -> None:
        """Move the variables and the state, in place: at this size a step is bound by memory. ``slope`` is used up."""
        ...
