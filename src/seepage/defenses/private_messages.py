"""The Gaussian mechanism on every row of a message."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor

from seepage._core import InputError
from seepage.defenses.defense import Defense, Privacy
from seepage.defenses.gradient_clipping import clipped
from seepage.defenses.message_noise import noise
from seepage.observation.parties import GRADIENT, INTERMEDIATE


@dataclass(frozen=True, kw_only=True)
class PrivateMessages(Defense):
    r"""Clip every row of a message to a norm, then add noise of this multiple of the norm to every entry.

    Guarantees:
        The lines that are sent about one row, in so many messages, are differentially private for *what stands in these
        lines*: two lines of norm at most :math:`C` differ by at most :math:`2C`, so that :math:`T` messages cost what
        one costs with a multiplier of :math:`\sigma / (2 \sqrt T)`. **It is no guarantee for a person.** A row also
        moves the other rows' lines of its batch, through BatchNorm, and everybody's weights; that is not covered.

    Args:
        kind: ``intermediates`` (guests protect their columns) or ``gradients`` (the host protects labels while
            fine-tuning).
        clip: :math:`C`, the norm of a row's line; of gradients that of the row's own loss.
        noise: :math:`\sigma`, times the clip.
        delta: of the promise.

    References:
        Dwork and Roth 2014 for the mechanism; Balle and Wang, Improving the Gaussian Mechanism, ICML 2018, for epsilon.

    Example:
        >>> round(PrivateMessages(noise=2.0).privacy(1.0, 1).epsilon, 1)
        4.4
    """

    kind: str = "intermediates"
    clip: float = 3.0
    noise: float = 1.0
    delta: float = 1e-5

    def __post_init__(self) -> None:
        if self.kind not in _KINDS:
            raise InputError(f"What is protected is {self.kind!r}; it must be intermediates or gradients.")
        if not 0 < self.clip < math.inf or not 0 <= self.noise < math.inf:
            raise InputError(
                f"The clip is {self.clip} and the noise {self.noise}; above 0, and 0 or above, are needed."
            )
        if not 0 < self.delta < 1:
            raise InputError(f"Delta is {self.delta}; it must be between 0 and 1.")

    def in_message(self, kind: str, values: Tensor, random: torch.Generator) -> Tensor:
        """Clipped and noisy lines."""
        if kind != _KINDS[self.kind]:
            return values
        norm = self.clip / (len(values) if kind == GRADIENT else 1)
        return clipped(values, norm) + self.noise * norm * noise(values, random)

    def noise_on(self, kind: str) -> float:
        """The deviation, on intermediate results."""
        return self.noise * self.clip if kind == _KINDS[self.kind] == INTERMEDIATE else 0.0

    def privacy(self, sampling_rate: float, steps: int) -> Privacy:
        """Epsilon of what stands in a row's own lines, after so many messages; every row is in its batch."""
        spent = gaussian_epsilon(self.noise / (2 * math.sqrt(max(steps, 1))), self.delta)
        return Privacy(epsilon=spent, delta=self.delta, steps=steps, sampling_rate=sampling_rate)


_KINDS = {"intermediates": INTERMEDIATE, "gradients": GRADIENT}


@lru_cache
def gaussian_epsilon(multiplier: float, delta: float) -> float:
    """The smallest epsilon of one Gaussian mechanism (Balle and Wang, theorem 8); infinite without noise.

    Args:
        multiplier: the noise's deviation, in units of the sensitivity.
    """
    if multiplier <= 0:
        return math.inf
    from scipy.special import log_ndtr  # takes half a second to load

    def spent(epsilon: float) -> float:
        first = float(log_ndtr(0.5 / multiplier - epsilon * multiplier))
        second = epsilon + float(log_ndtr(-0.5 / multiplier - epsilon * multiplier))
        return math.exp(first) - math.exp(min(second, 0.0))

    low, high = 0.0, 1.0
    while spent(high) > delta:
        low, high = high, 2 * high
    while high - low > 1e-6 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if spent(middle) > delta else (low, middle)
    return high
