"""How the variables move."""

from __future__ import annotations

from typing import Protocol

from torch import Tensor

from seepage.attacks.inversion.optimisers.adam import Adam
from seepage.attacks.inversion.optimisers.lbfgs import LBFGS
from seepage.attacks.inversion.optimisers.schedules import constant, cosine, linear

__all__ = ["LBFGS", "Adam", "Optimiser", "constant", "cosine", "linear"]


class Optimiser(Protocol):
    """A first-order rule over variables (observations, restarts, rows, inputs)."""

    def begin(self, x: Tensor) -> tuple[Tensor, ...]:
        """The first state."""
        ...

    def sizes(self, step: int, steps: int) -> tuple[float, ...]:
        """What changes from step to step (from 1), as plain numbers."""
        ...

    def move(self, x: Tensor, slope: Tensor, state: tuple[Tensor, ...], sizes: Tensor, moving: Tensor) -> None:
        """Move the variables and the state, in place: at this size a step is bound by memory. ``slope`` is used up.

        ``moving`` (observations, restarts, 1, 1) is 0 for runs that have stopped, else 1.
        """
        ...
