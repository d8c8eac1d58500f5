"""The first layer stays at home."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from seepage.defenses.defense import Defense
from seepage.models import Parameters
from seepage.observation import Channel


@dataclass(frozen=True, kw_only=True)
class FirstLayerWithheld(Defense):
    """Nothing is sent of the first layer, which sees the rows directly; the global model keeps the one it began with.

    Guarantees:
        None. The later layers tell what the rows look like behind a first layer that everybody knows.

    Example:
        >>> update = {"0.weight": torch.ones(1, 2, 2), "0.bias": torch.ones(1, 2), "2.weight": torch.ones(1, 1, 2)}
        >>> [float(value.sum()) for value in FirstLayerWithheld().protect(update, torch.Generator()).values()]
        [0.0, 0.0, 2.0]

    References:
        Shokri and Shmatikov, Privacy-Preserving Deep Learning, CCS 2015, for sharing a part of an update.
    """

    def channel(self) -> Channel:
        """A zero says nothing."""
        return Channel(missing="zeros")

    def protect(self, update: Parameters, random: torch.Generator) -> Parameters:
        """The update with zeros for the first layer."""
        first = next(iter(update)).rpartition(".")[0]
        return {
            name: torch.zeros_like(value) if name.rpartition(".")[0] == first else value
            for name, value in update.items()
        }
