"""FedAdam and FedYogi: the server steps in units of the changes' own size."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from seepage._core import InputError
from seepage.models import Parameters


@dataclass(frozen=True, kw_only=True)
class Adaptive:
    """An adaptive server.

    Args:
        rate: of the server.
        beta1, beta2: how much of the mean change, and of the mean square, is kept.
        tau: added to the root of the mean square; the squares start at its square.
        yogi: squares move by a step of their own size towards the new ones, not by a mean.

    References:
        Reddi et al., Adaptive Federated Optimization, ICLR 2021.
    """

    rate: float = 0.01
    beta1: float = 0.9
    beta2: float = 0.99
    tau: float = 0.001
    yogi: bool = False

    def __post_init__(self) -> None:
        if not self.rate > 0 or not self.tau > 0:
            raise InputError(f"The server's rate is {self.rate:g} and its tau {self.tau:g}; both must be above 0.")
        if not (0 <= self.beta1 < 1 and 0 <= self.beta2 < 1):
            raise InputError(f"The server's betas are {self.beta1:g} and {self.beta2:g}; they are 0 to below 1.")

    def fresh(self, weights: Parameters) -> tuple[Parameters, ...]:
        """No mean yet, and squares of tau."""
        mean = {name: torch.zeros_like(value) for name, value in weights.items()}
        return mean, {name: torch.full_like(value, self.tau**2) for name, value in weights.items()}

    def step(
        self, weights: Parameters, change: Parameters, memory: tuple[Parameters, ...]
    ) -> tuple[Parameters, tuple[Parameters, ...]]:
        """The next model, and its moments."""
        means, squares = {}, {}
        for name, value in change.items():
            mean, square, new = memory[0][name], memory[1][name], value.square()
            means[name] = self.beta1 * mean + (1 - self.beta1) * value
            if self.yogi:
                squares[name] = square - (1 - self.beta2) * new * torch.sign(square - new)
            else:
                squares[name] = self.beta2 * square + (1 - self.beta2) * new
        stepped = {n: v + self.rate * means[n] / (squares[n].sqrt() + self.tau) for n, v in weights.items()}
        return stepped, (means, squares)


def fedadam() -> Adaptive:
    """FedAdam.

    Example:
        >>> fedadam().yogi
        False
    """
    return Adaptive()


def fedyogi() -> Adaptive:
    """FedYogi.

    Example:
        >>> fedyogi().yogi
        True
    """
    return Adaptive(yogi=True)
