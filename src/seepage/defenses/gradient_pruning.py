"""Pruning: the smallest entries of every layer are set to zero."""

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
class GradientPruning(Defense):
    """Sets the smallest entries of every tensor to zero. ``top_k`` chooses over the whole update instead.

    Guarantees:
        None.

    Args:
        share: of each tensor's entries that is set to zero, from 0 to below 1; at least one entry is left.

    Example:
        >>> GradientPruning(share=0.5).protect({"w": torch.tensor([[3.0, -4.0, 1.0, 2.0]])}, torch.Generator())["w"]
        tensor([[ 3., -4.,  0.,  0.]])

    References:
        Zhu et al., Deep Leakage from Gradients, NeurIPS 2019, section 5.2, name it as a defence.
    """

    share: float = 0.9

    def __post_init__(self) -> None:
        if not 0 <= self.share < 1:
            raise InputError(f"The share of entries set to zero is {self.share}; it must be from 0 to below 1.")

    def channel(self) -> Channel:
        """A zero is an entry smaller than all that were sent of its tensor."""
        return Channel(missing="smallest_of_tensor")

    def protect(self, update: Parameters, random: torch.Generator) -> Parameters:
        """The update without the smallest entries of each tensor."""
        return {name: self._pruned(value) for name, value in update.items()}

    def _pruned(self, value: Tensor) -> Tensor:
        flat = value.flatten(1)  # (clients, entries)
        kept = max(1, math.ceil((1 - self.share) * flat.shape[1] - 1e-9))
        places = flat.abs().topk(kept, dim=1).indices
        return torch.zeros_like(flat).scatter(1, places, flat.gather(1, places)).view_as(value)
