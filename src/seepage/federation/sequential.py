"""Sequential federated learning: one model is handed on from participant to participant (the property-inference
thesis, section 2.4).

Every participant trains it on its own rows and passes it on. The next one therefore holds a model that was made from
somebody else's rows alone, or from all who had it before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from torch import Tensor

from seepage._core import InputError, Streams
from seepage.models.encoded import Encoded
from seepage.models.recipe import Recipe
from seepage.models.stack import Stack
from seepage.models.stacked_training import train_stack


@dataclass(frozen=True, kw_only=True)
class Sequential:
    """Many such chains at once, one for each model.

    Args:
        recipe: how every participant trains.

    Example:
        >>> Sequential().recipe.epochs
        1
    """

    recipe: Recipe = field(default_factory=Recipe)

    def hand_on(self, table: Encoded, rows: Sequence[Tensor], seeds: Sequence[int]) -> Iterator[Stack]:
        """The models as each participant passes them on; the first of these is what the second participant gets.

        Args:
            table: all participants' rows.
            rows: for each participant (models, count), the rows it trains each chain's model on.
            seeds: of each chain.
        """
        if not rows:
            raise InputError("There is no participant; at least one must train the model.")
        stack = None
        for place, own in enumerate(rows):
            orders = [Streams(seed).integer("participant", place) for seed in seeds] if place else list(seeds)
            stack = train_stack(self.recipe, table, own, orders, start=stack)
            yield stack
