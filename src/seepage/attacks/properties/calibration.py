"""How sure a meta-model may be: a temperature, and the reach of intervals, set on shadows that did not train."""

from __future__ import annotations

import math

from scipy.optimize import minimize_scalar
from torch import Tensor

from seepage.attacks.properties.losses import Loss

_TINY = 1e-6  # of a probability, before its logarithm is taken


def temperature_of(loss: Loss, outputs: Tensor, truth: Tensor) -> float:
    """The one number that makes the probabilities of these shadows likeliest (Guo et al. 2017)."""

    def surprise(logarithm: float) -> float:
        chances = loss.probabilities(outputs, math.exp(logarithm)).gather(1, truth[:, None])
        return -chances.clamp(min=_TINY).log().mean().item()

    return math.exp(minimize_scalar(surprise, bounds=(-3, 3), method="bounded").x)


def reach_of(loss: Loss, outputs: Tensor, shares: Tensor, coverage: float) -> float:
    """How many deviations an interval must reach to hold so many of the true shares (Lei et al. 2018)."""
    found = loss.share(outputs)
    if found is None:
        return math.inf
    estimate, deviation = found
    distances = ((shares - estimate).abs() / deviation).sort().values
    place = math.ceil((len(distances) + 1) * coverage)  # one more than there are: the target itself is one of them
    return distances[place - 1].item() if place <= len(distances) else math.inf
