"""The owner of a model trains longer."""

from __future__ import annotations

from dataclasses import dataclass, replace

from seepage._core import InputError
from seepage.defenses.defense import Defense
from seepage.models.recipe import Recipe


@dataclass(frozen=True, kw_only=True)
class Epochs(Defense):
    """The owner trains for so many epochs: weights move on after they have taken up what the rows have in common.

    Guarantees:
        None.

    Args:
        epochs: how many.

    Example:
        >>> Epochs(epochs=3).recipe(Recipe()).epochs
        3

    References:
        The property-inference thesis trains for one epoch and for ten (section 4.4).
    """

    epochs: int = 10

    def __post_init__(self) -> None:
        if self.epochs < 1:
            raise InputError(f"The owner trains for {self.epochs} epochs; at least 1 is needed.")

    def recipe(self, recipe: Recipe) -> Recipe:
        """The same with more epochs."""
        return replace(recipe, epochs=self.epochs)
