"""Numbers cut off at their range."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from seepage.attacks.inversion.numbers.bounded import check_bounds, encoded_bounds
from seepage.observation import Space


@dataclass(frozen=True, kw_only=True)
class Clamped:
    """The variables are the encoded numbers, cut off at the bounds of each column.

    The slope passes the cut unchanged (straight through): a number that left its range could not come back else.
    Needs the ranges and the clients' statistics.
    """

    def check(self, space: Space) -> None:
        check_bounds(space)

    def __call__(self, variables: Tensor, space: Space) -> Tensor:
        low, high = encoded_bounds(space)
        return variables + (variables.clamp(low, high) - variables).detach()
