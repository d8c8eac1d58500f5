"""Local differential privacy of one update, with its epsilon as the setting."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor

from seepage._core import InputError, unknown_name
from seepage.defenses.defense import Defense, Privacy
from seepage.defenses.dp_fedavg import check_delta
from seepage.defenses.gaussian_noise import GaussianNoise
from seepage.defenses.private_messages import gaussian_epsilon
from seepage.defenses.update_clipping import check_norm, shortened
from seepage.models import Parameters
from seepage.observation import Channel

MECHANISMS = ("gaussian", "laplace")


@dataclass(frozen=True, kw_only=True)
class LocalDP(Defense):
    r"""Each client clips its update and adds as much noise as this epsilon needs.

    ``gaussian`` clips the Euclidean norm to :math:`C` and adds normal noise; ``laplace`` clips the sum of magnitudes
    to :math:`C` and adds Laplace noise of scale :math:`2C / \varepsilon` to every entry.

    Guarantees:
        One update is :math:`(\varepsilon, \delta)`-differentially private (``laplace``: :math:`\delta = 0`) for *all*
        rows of its client, whoever sees it. Over T updates the epsilons add up (``laplace``), or cost what one costs
        with a :math:`\sqrt T`-th of the noise (``gaussian``); T counts local steps, which are at least as many.

    Args:
        epsilon: of one update.
        clip: C, in units of the update.
        mechanism: ``gaussian`` or ``laplace``.
        delta: of the guarantee.

    Example:
        >>> round(LocalDP(epsilon=2.0).privacy(sampling_rate=1.0, steps=1).epsilon, 3)
        2.0

    References:
        Dwork and Roth, The Algorithmic Foundations of Differential Privacy, 2014; Balle and Wang, Improving the
        Gaussian Mechanism, ICML 2018.
    """

    epsilon: float = 8.0
    clip: float = 1.0
    mechanism: str = "gaussian"
    delta: float = 1e-5

    def __post_init__(self) -> None:
        if not 0 < self.epsilon < math.inf:
            raise InputError(f"Epsilon is {self.epsilon}; it must be above 0.")
        check_norm(self.clip)
        if self.mechanism not in MECHANISMS:
            raise unknown_name("mechanism", self.mechanism, MECHANISMS)
        check_delta(self.delta)

    @property
    def deviation(self) -> float:
        """Of the noise on every entry."""
        if self.mechanism == "laplace":
            return math.sqrt(2) * 2 * self.clip / self.epsilon
        return 2 * self.clip * multiplier_for(self.epsilon, self.delta)

    def channel(self) -> Channel:
        """A known norm and noise of a known deviation."""
        return Channel(clip=self.clip, order=1 if self.mechanism == "laplace" else 2, noise=self.deviation)

    def protect(self, update: Parameters, random: torch.Generator) -> Parameters:
        """The clipped update with fresh noise for every client."""
        if self.mechanism == "gaussian":
            return GaussianNoise(deviation=self.deviation).protect(shortened(update, self.clip), random)
        scale = self.deviation / math.sqrt(2)
        short = shortened(update, self.clip, order=1)
        return {name: value + scale * _laplace(value, random) for name, value in short.items()}

    def privacy(self, sampling_rate: float, steps: int) -> Privacy:
        """Epsilon of a whole client after these steps."""
        steps = max(steps, 1)
        spent = self.epsilon * steps
        if self.mechanism == "gaussian":
            spent = gaussian_epsilon(multiplier_for(self.epsilon, self.delta) / math.sqrt(steps), self.delta)
        return Privacy(epsilon=spent, delta=self.delta, steps=steps, sampling_rate=sampling_rate)


def _laplace(like: Tensor, random: torch.Generator) -> Tensor:
    """Laplace numbers of scale 1: the difference of two exponential ones."""
    one, other = (torch.rand(like.shape, generator=random, dtype=like.dtype).clamp(min=1e-30) for _ in range(2))
    return other.log() - one.log()


@lru_cache
def multiplier_for(epsilon: float, delta: float) -> float:
    """The smallest noise, in units of the sensitivity, with which one Gaussian mechanism keeps epsilon."""
    low, high = 0.0, 1.0
    while gaussian_epsilon(high, delta) > epsilon:
        low, high = high, 2 * high
    while high - low > 1e-6 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if gaussian_epsilon(middle, delta) <= epsilon else (middle, high)
    return high
