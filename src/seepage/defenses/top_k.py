"""Sparsification: only the largest entries of an update are sent."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from seepage._core import InputError
from seepage.defenses.defense import Defense
from seepage.defenses.random_k import kept_only
from seepage.models import Parameters
from seepage.observation import Channel


@dataclass(frozen=True, kw_only=True)
class TopK(Defense):
    """Keeps the entries of largest magnitude over the whole update of a client; the others are sent as zero.

    Made to save bandwidth, and often named as a defence. It draws nothing at random.

    NOTE[DIFF] Lin et al. choose per layer and add what was left out to the next update (error feedback). Here the
    choice is over all layers, and what is left out is lost: error feedback would send the rest later.

    Guarantees:
        None.

    Args:
        share: of the entries that is kept, above 0 and at most 1; at least one entry is.

    Example:
        >>> TopK(share=0.5).protect({"w": torch.tensor([[3.0, -4.0, 1.0, 0.0]])}, torch.Generator())["w"].tolist()
        [[3.0, -4.0, 0.0, 0.0]]

    References:
        Lin et al., Deep Gradient Compression, ICLR 2018; Zhu et al., Deep Leakage from Gradients, NeurIPS 2019.
    """

    share: float = 0.1

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1:
            raise InputError(f"The share of entries kept is {self.share}; it must be above 0 and at most 1.")

    def channel(self) -> Channel:
        """A zero is an entry smaller than all that were sent."""
        return Channel(missing="smallest")

    def protect(self, update: Parameters, random: torch.Generator) -> Parameters:
        """The update with all but its largest entries set to zero."""
        flat = torch.cat([value.flatten(1) for value in update.values()], dim=1)  # (clients, entries)
        kept = max(1, math.ceil(self.share * flat.shape[1] - 1e-9))
        places = flat.abs().topk(kept, dim=1).indices
        return kept_only(update, flat, places)
