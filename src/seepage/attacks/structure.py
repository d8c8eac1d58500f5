"""What of a model decides whether its updates can be read by algebra: counted by trial, without any data."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from seepage.attacks.exact.view import Layer, outputs_of, usable_layers
from seepage.data import Layout
from seepage.models import Learner, Tokens, tokens_of


@dataclass(frozen=True)
class Depth:
    """The size of a linear layer.

    Args:
        inputs: what it takes in, with a 1 for the bias.
        directions: how many independent slopes records can have there.
        biased: it has a bias.
    """

    inputs: int
    directions: int
    biased: bool


@dataclass(frozen=True, eq=False)
class Structure:
    """A model as algebra sees it.

    Args:
        entrance: the layer that takes in the rows themselves, if there is one.
        moved: there is a linear layer, but the rows are changed before it, each by the same affine map.
        deep: linear layers behind a non-linearity that see every record once and before any dropout; none without an
            entrance, which they build on.
        tokens: the tables through which rows enter instead.
        dropout: the client's forward pass has noise of its own.
        weighted: the loss weighs classes, so a batch is no plain mean of its rows.
        parameters: entries of an update.
        layout: where numbers and blocks stand.
    """

    entrance: Depth | None
    moved: bool
    deep: tuple[Depth, ...]
    tokens: Tokens | None
    dropout: bool
    weighted: bool
    parameters: int
    layout: Layout

    @property
    def columns(self) -> int:
        """Cells of a row."""
        return self.layout.numeric + len(self.layout.sizes)

    @property
    def categories(self) -> int:
        """Categories of all columns; the slot of unknown ones is none."""
        sizes = self.layout.sizes
        return sum(sizes) - (len(sizes) if self.layout.embedded else 0)

    @property
    def anchored(self) -> bool:
        """Whether the length of a record is known: its bias entry is 1, or the sum of a block is."""
        return bool(self.layout.sizes) or (self.entrance is not None and self.entrance.biased)

    @property
    def dimensions(self) -> int:
        """Dimensions of valid rows with their 1: all blocks have the same sum, and so has the bias."""
        return self.layout.width - len(self.layout.sizes) + int(self.anchored)


@lru_cache(maxsize=32)
def structure_of(learner: Learner, layout: Layout) -> Structure:
    """The structure of a model for rows of this layout."""
    layers = usable_layers(learner, layout.width)
    entrance = next((layer for layer in layers if layer.entrance), None)
    deep = [layer for layer in layers if not layer.affine] if entrance else []
    return Structure(
        entrance=_depth(learner, entrance) if entrance else None,
        moved=entrance is None and any(layer.affine for layer in layers),
        deep=tuple(_depth(learner, layer) for layer in deep),
        tokens=tokens_of(learner, layout.numeric, layout.sizes) if entrance is None else None,
        dropout=learner.has_noise,
        weighted=learner.positive_weight != 1 and outputs_of(learner, layout.width) > 1,
        parameters=learner.size,
        layout=layout,
    )


def _depth(learner: Learner, layer: Layer) -> Depth:
    if layer.back is not None:  # the rows as we lay them out
        return Depth(layer.back.shape[1], layer.directions, layer.biased)
    inputs = int(learner.module.get_submodule(layer.name).in_features)  # type: ignore[arg-type]
    return Depth(inputs + int(layer.biased), layer.directions, layer.biased)
