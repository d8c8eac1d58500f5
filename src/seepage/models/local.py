"""How a client trains between receiving a model and sending it back, written once for clients and attackers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, get_args

import torch
from torch import Tensor

from seepage._core import InputError, unknown_name
from seepage.models.functional import Parameters
from seepage.models.optimisers import SGD, Moments, Optimiser

RateSchedule = Literal["constant", "linear", "cosine"]
DESCENT = SGD()
TINY = 1e-6  # torch adds it to a norm before it divides


@dataclass(frozen=True, kw_only=True)
class LocalTraining:
    """The rules of a client's local steps. Moments start at zero in every round.

    Args:
        optimiser: from slopes to steps.
        schedule: how the learning rate falls over the local steps of a round: not at all, linearly to 0, or as a half
            cosine.
        clip: the longest that the gradient of a batch may be, over all weights; 0 clips nothing.
        proximal: FedProx: how strongly weights are held at those that were sent out (its mu).

    References:
        Li et al., Federated Optimization in Heterogeneous Networks, MLSys 2020 (FedProx).
    """

    optimiser: Optimiser = DESCENT
    schedule: RateSchedule = "constant"
    clip: float = 0.0
    proximal: float = 0.0

    def __post_init__(self) -> None:
        if self.schedule not in get_args(RateSchedule):
            raise unknown_name("rate schedule", self.schedule, get_args(RateSchedule))
        for name in ("clip", "proximal"):
            if not 0 <= getattr(self, name) < math.inf:
                raise InputError(f"The setting {name!r} is {getattr(self, name):g}; it must be 0 or above.")

    @property
    def plain(self) -> bool:
        """Whether a step is nothing but the slope times the rate."""
        return self.optimiser == DESCENT and not self.clip and not self.proximal

    @property
    def linear(self) -> bool:
        """Whether the change is a sum of the steps' slopes and the first weights, with numbers the server knows."""
        return self.optimiser.linear and not self.clip

    def rates(self, rate: float, steps: int) -> list[float]:
        """The learning rate of each local step."""
        if self.schedule == "linear":
            return [rate * (1 - number / steps) for number in range(steps)]
        if self.schedule == "cosine":
            return [rate * (1 + math.cos(math.pi * number / steps)) / 2 for number in range(steps)]
        return [rate] * steps

    def fresh(self, weights: Parameters) -> Moments:
        """Moments before the first step."""
        return tuple(
            {name: torch.zeros_like(value) for name, value in weights.items()} for _ in range(self.optimiser.memory)
        )

    def step(
        self, weights: Parameters, slopes: Parameters, moments: Moments, start: Parameters, rate: Tensor, number: Tensor
    ) -> tuple[Parameters, Moments]:
        """One local step of one client.

        Args:
            slopes: the gradient of the batch.
            start: the weights that were sent out.
            rate, number: of this step; the first has the number 1.
        """
        if self.proximal:
            slopes = {n: slope + self.proximal * (weights[n] - start[n]) for n, slope in slopes.items()}
        if self.clip:
            norm = torch.stack([slope.square().sum() for slope in slopes.values()]).sum().sqrt()
            factor = (self.clip / (norm + TINY)).clamp(max=1.0)
            slopes = {name: slope * factor for name, slope in slopes.items()}
        return self.optimiser.step(weights, slopes, moments, rate, number)

    def idle(self, weights: Parameters, rate: float, steps: int) -> Parameters:
        """How weights change that no row touches: by decay alone."""
        current, moments = weights, self.fresh(weights)
        still = {name: torch.zeros_like(value) for name, value in weights.items()}
        for number, each in enumerate(self.rates(rate, steps), 1):
            current, moments = self.step(
                current, still, moments, weights, torch.tensor(each), torch.tensor(float(number))
            )
        return {name: current[name] - value for name, value in weights.items()}


@dataclass(frozen=True)
class Response:
    r"""A change of weights as :math:`(k - 1)\, \theta_0 - \sum_t c_t\, g_t`.

    Args:
        kept: k, the share of the first weights that is left.
        weights: c, of each step's gradient.
    """

    kept: float
    weights: tuple[float, ...]

    @property
    def total(self) -> float:
        """The weight of a gradient that all steps have in common."""
        return math.fsum(self.weights)


@lru_cache(maxsize=64)
def response(training: LocalTraining, rate: float, steps: int) -> Response | None:
    """How the steps of an optimiser that is linear add up; None for another.

    A scalar weight is trained for each step, with a slope of 1 in that step alone, and one with no slopes at all.
    """
    if not training.linear:
        return None
    rates = training.rates(rate, steps)
    start = {"w": torch.zeros(steps + 1, dtype=torch.float64)}
    start["w"][steps] = 1.0  # the weight that decays
    current, moments = start, training.fresh(start)
    for number, each in enumerate(rates):
        slopes = {"w": torch.zeros(steps + 1, dtype=torch.float64)}
        slopes["w"][number] = 1.0
        knobs = torch.tensor(each, dtype=torch.float64), torch.tensor(number + 1.0, dtype=torch.float64)
        current, moments = training.step(current, slopes, moments, start, *knobs)
    found = current["w"].tolist()
    return Response(kept=found[-1], weights=tuple(-value for value in found[:-1]))
