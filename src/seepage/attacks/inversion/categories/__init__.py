"""From free variables to the categorical blocks of a row."""

from __future__ import annotations

from typing import Protocol

from torch import Tensor

from seepage.attacks.inversion.categories.cut import CutSimplex
from seepage.attacks.inversion.categories.simplex import Simplex
from seepage.attacks.inversion.categories.softmax import Softmax
from seepage.attacks.inversion.categories.standardised import StandardisedSoftmax
from seepage.attacks.inversion.categories.unconstrained import Unconstrained


class Categories(Protocol):
    """A map of the variables of all blocks to blocks in raw units (mixtures of categories).

    ``raw`` says whether the result is in raw units and must be scaled as the clients do; if not, the variables are
    inputs already. ``standardised`` says that the variables are standardised like inputs, and get their raw units back
    before the map.
    """

    @property
    def raw(self) -> bool: ...
    @property
    def standardised(self) -> bool: ...

    def __call__(self, variables: Tensor, sizes: tuple[int, ...]) -> Tensor: ...


__all__ = ["Categories", "CutSimplex", "Simplex", "Softmax", "StandardisedSoftmax", "Unconstrained"]
