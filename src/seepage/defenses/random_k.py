"""Random sparsification: only some entries of an update are sent, drawn anew each time."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from seepage._core import InputError
from seepage.defenses.defense import Defense
from seepage.models import Parameters
from seepage.observation import Channel


@dataclass(frozen=True, kw_only=True)
class RandomK(Defense):
    """Keeps a share of the entries of a client's whole update, drawn evenly; the others are sent as zero.

    The same as dropout on the update, without its rescaling: which entries are zero, everybody sees.

    Guarantees:
        None.

    Args:
        share: of the entries that is kept, above 0 and at most 1; at least one entry is.

    Example:
        >>> sent = RandomK(share=0.5).protect({"w": torch.ones(1, 10)}, torch.Generator().manual_seed(1))
        >>> int(sent["w"].sum())
        5

    References:
        Konečný et al., Federated Learning: Strategies for Improving Communication Efficiency, 2016.
    """

    share: float = 0.1

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1:
            raise InputError(f"The share of entries kept is {self.share}; it must be above 0 and at most 1.")

    def channel(self) -> Channel:
        """A zero says nothing."""
        return Channel(missing="zeros")

    def protect(self, update: Parameters, random: torch.Generator) -> Parameters:
        """The update with all but some random entries set to zero."""
        flat = torch.cat([value.flatten(1) for value in update.values()], dim=1)  # (clients, entries)
        kept = max(1, math.ceil(self.share * flat.shape[1] - 1e-9))
        places = torch.rand(flat.shape, generator=random).topk(kept, dim=1).indices
        return kept_only(update, flat, places)


def kept_only(update: Parameters, flat: Tensor, places: Tensor) -> Parameters:
    """Updates of which only the entries at (clients, kept) places of (clients, entries) are left."""
    sparse = torch.zeros_like(flat).scatter(1, places, flat.gather(1, places))
    parts = torch.split(sparse, [value[0].numel() for value in update.values()], dim=1)
    return {name: part.view_as(value) for (name, value), part in zip(update.items(), parts, strict=True)}
