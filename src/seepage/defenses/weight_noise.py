"""Noise on the weights of a model before it is handed over."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from seepage._core import InputError, Streams
from seepage.defenses.defense import Defense
from seepage.models.stack import Stack


@dataclass(frozen=True, kw_only=True)
class WeightNoise(Defense):
    """Normal noise is added to every weight of a trained model.

    Guarantees:
        None.

    Args:
        deviation: of the noise, in deviations of each layer's weights.

    References:
        Ganju et al., Property Inference Attacks on Fully Connected Neural Networks, CCS 2018, name it as a defence.

    Example:
        >>> WeightNoise(deviation=0.2).deviation
        0.2
    """

    deviation: float = 0.1

    def __post_init__(self) -> None:
        if not 0 < self.deviation < math.inf:
            raise InputError(f"The noise on weights has a deviation of {self.deviation:g}; it must be above 0.")

    def release(self, models: Stack, streams: Streams) -> Stack:
        """The models with noise of their own each."""
        random = torch.Generator().manual_seed(streams.integer("weight noise"))

        def noisy(layer: Tensor) -> Tensor:
            spread = layer.flatten(1).std(1).view(-1, *[1] * (layer.dim() - 1))
            return layer + self.deviation * spread * torch.randn(layer.shape, generator=random)

        return Stack(tuple(map(noisy, models.weights)), tuple(map(noisy, models.biases)))
