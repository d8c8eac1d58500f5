"""Numbers as they are."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from seepage.observation import Space


@dataclass(frozen=True, kw_only=True)
class Unbounded:
    """The variables are the encoded numbers."""

    def check(self, space: Space) -> None:
        """Nothing is needed."""

    def __call__(self, variables: Tensor, space: Space) -> Tensor:
        return variables
