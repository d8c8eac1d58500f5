"""Gaussian noise on the messages of vertical training."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from seepage._core import InputError
from seepage.defenses.defense import Defense
from seepage.observation.parties import GRADIENT, INTERMEDIATE


@dataclass(frozen=True, kw_only=True)
class IntermediateNoise(Defense):
    """Guests add independent noise to every entry of their intermediate results, anew for every message.

    Guarantees:
        None by itself: intermediate results are not bounded, so no epsilon can be stated. Whoever is sent the same row
        often takes the mean.

    Args:
        deviation: in units of the intermediate results, whose inputs BatchNorm has given deviation 1.

    References:
        The defence that VFLAIR and others call noise or perturbation of embeddings.

    Example:
        >>> noisy = IntermediateNoise(deviation=0.1)
        >>> noisy.in_message(INTERMEDIATE, torch.zeros(2, 3), torch.Generator().manual_seed(1)).shape
        torch.Size([2, 3])
    """

    deviation: float = 0.5

    def __post_init__(self) -> None:
        _check(self.deviation)

    def in_message(self, kind: str, values: Tensor, random: torch.Generator) -> Tensor:
        """Intermediate results with noise."""
        return values + self.deviation * noise(values, random) if kind == INTERMEDIATE else values

    def noise_on(self, kind: str) -> float:
        """The deviation, on intermediate results."""
        return self.deviation if kind == INTERMEDIATE else 0.0


@dataclass(frozen=True, kw_only=True)
class GradientNoise(Defense):
    """The host adds independent noise to every entry of the gradients that it sends while fine-tuning.

    Guarantees:
        None by itself: gradients are not bounded, so no epsilon can be stated. Over many epochs the mean shows through.

    Args:
        deviation: times the root mean square of the message's entries, which shrinks as the model learns.

    References:
        Li et al., Label leakage and protection in two-party split learning, ICLR 2022, call it isotropic noise.

    Example:
        >>> GradientNoise(deviation=1.0).deviation
        1.0
    """

    deviation: float = 1.0

    def __post_init__(self) -> None:
        _check(self.deviation)

    def in_message(self, kind: str, values: Tensor, random: torch.Generator) -> Tensor:
        """Gradients with noise."""
        if kind != GRADIENT:
            return values
        return values + self.deviation * values.square().mean().sqrt() * noise(values, random)


def noise(values: Tensor, random: torch.Generator) -> Tensor:
    """Standard normal numbers in the shape of these."""
    return torch.randn(values.shape, generator=random, dtype=values.dtype)


def _check(deviation: float) -> None:
    if not 0 <= deviation < math.inf:
        raise InputError(f"The noise's deviation is {deviation}; it must be 0 or above.")
