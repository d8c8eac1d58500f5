"""The owner of a model trains on rows with a fixed share of the property."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from seepage._core import InputError
from seepage.defenses.defense import Defense


@dataclass(frozen=True, kw_only=True)
class Balanced(Defense):
    """Training rows with a fixed share of the property.

    Every owner trains on as many rows, so that their number tells nothing either. An owner that has too few rows of one
    kind repeats them, and one that has none of them cannot balance: both can be told, and both are measured.

    Guarantees:
        Between owners who need not repeat a row, the training rows have the same distribution, whatever share the owner
        has; no attack can do better there than guessing.

    Args:
        share: of the training rows.
        keep: share of the owner's rows that is trained on. With 0.2 and a share of a half, nobody who has between 10
            and 90 % needs to repeat.

    References:
        Seepage; what it hides is measured in ``docs/explanation/property-inference.md``.

    Example:
        >>> Balanced(keep=0.1).balance()
        (0.5, 0.1)
    """

    share: float = 0.5
    keep: float = 0.2

    def __post_init__(self) -> None:
        if not 0 < self.share < 1:
            raise InputError(f"The share of balanced rows is {self.share:g}; it must lie between 0 and 1.")
        if not 0 < self.keep <= 1:
            raise InputError(f"Balancing keeps {self.keep:g} of the rows; it must be above 0 and at most 1.")

    def balance(self) -> tuple[float, float]:
        """Share of the property, and share of the rows that is trained on."""
        return self.share, self.keep


def repeated(balance: tuple[float, float], shares: Tensor, held: int) -> Tensor:
    """(models,) how many of the training rows are repetitions, for owners of ``held`` rows with these shares."""
    share, keep = balance
    count = max(1, round(keep * held))
    needed = round(share * count)
    having = (shares * held).round()
    short = (needed - having).clamp(min=0) + (count - needed - (held - having)).clamp(min=0)
    return short / count
