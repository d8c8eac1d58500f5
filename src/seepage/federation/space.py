"""The input space as far as an adversary knows it."""

from __future__ import annotations

import torch
from torch import Tensor

from seepage.data import Encoder, Statistics
from seepage.federation.population import Population
from seepage.observation import Knowledge, Space


def known_space(population: Population, knowledge: Knowledge) -> Space:
    """The input space as far as this adversary knows it."""
    return space_of(population.encoder, population.pooled, knowledge)


def space_of(encoder: Encoder, shared: Statistics | None, knowledge: Knowledge) -> Space:
    """The input space of an encoder as far as an adversary knows it.

    Args:
        shared: the statistics with which all clients scale, if the adversary may know them.
    """
    low, high = encoder.ranges()
    known: dict[str, Tensor] = {}
    if knowledge.statistics:
        assert shared is not None
        known["shift"] = torch.from_numpy(shared.shift).float()
        known["scale"] = torch.from_numpy(shared.scale).float()
    if knowledge.ranges:
        known["low"] = torch.from_numpy(low).float()
        known["high"] = torch.from_numpy(high).float()
    if knowledge.ranges or knowledge.whole:
        known["integers"] = torch.from_numpy(encoder.whole)
    return Space(layout=encoder.layout, standardised=encoder.standardise_onehot, **known)
