"""From free variables to the numbers of a row."""

from __future__ import annotations

from typing import Protocol

from torch import Tensor

from seepage.attacks.inversion.numbers.bounded import Bounded
from seepage.attacks.inversion.numbers.unbounded import Unbounded
from seepage.observation import Space


class Numbers(Protocol):
    """A map of (..., numeric) variables to encoded numbers. ``check`` says in a sentence what it lacks."""

    def check(self, space: Space) -> None: ...

    def __call__(self, variables: Tensor, space: Space) -> Tensor: ...


__all__ = ["Bounded", "Numbers", "Unbounded"]
