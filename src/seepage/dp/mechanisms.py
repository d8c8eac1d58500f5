"""Noise beside what it has to cover, composed over everything that is released: the upper bound of epsilon."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

from seepage._core import InputError

# Where the tighter accountant is not asked: it would take minutes, gigabytes, or more digits than there are.
LARGE = 60.0  # epsilon by the looser one
MANY = 8_000.0  # epsilon times the root of the steps: its grid grows with both
SMALL = 1e-12  # delta
LEAST, MOST = 1e-4, 1e6  # noise multipliers between which drawing is counted at all
MOST_STEPS = 1_000_000  # for which a target's noise is looked for


class Mechanism(Protocol):
    """Something random that is done to what is released."""

    def epsilon(self, delta: float) -> float:
        """The smallest epsilon that can be stated for all releases together; infinite if none can."""


@dataclass(frozen=True, kw_only=True)
class Gaussian:
    r"""Gaussian noise on every entry of every release; each release holds all of its unit.

    Guarantees:
        Epsilon is exact: releases with sensitivity :math:`\Delta` and noise :math:`\sigma` are together one release
        with :math:`\Delta \sqrt T`, and that one's epsilon is Balle and Wang's.

    Args:
        noise: deviation on each entry.
        sensitivity: the largest L2 distance of what two neighbours would release, before noise.
        releases: how many there are.

    Example:
        >>> round(Gaussian(noise=4.845, sensitivity=1.0).epsilon(1e-5), 2)
        0.75

    References:
        Balle and Wang, Improving the Gaussian Mechanism for Differential Privacy, ICML 2018.
    """

    noise: float
    sensitivity: float
    releases: int = 1

    @property
    def distance(self) -> float:
        """How far apart two neighbours are, in deviations of the noise, over all releases."""
        return math.inf if self.noise <= 0 else self.sensitivity * math.sqrt(self.releases) / self.noise

    def epsilon(self, delta: float) -> float:
        """Of all releases."""
        from seepage.defenses.private_messages import gaussian_epsilon

        if not math.isfinite(self.distance):
            return math.inf
        return gaussian_epsilon(1 / self.distance, delta) if self.distance > 0 else 0.0


@dataclass(frozen=True, kw_only=True)
class Sampled:
    """Gaussian noise on sums over batches that are drawn by Poisson sampling: each unit is in each independently.

    Guarantees:
        For one unit more or less. By Opacus' Rényi accountant, or by its accountant of privacy losses where that is
        lower.

    Args:
        multiplier: the noise's deviation in units of the clip.
        rate: with which a unit is in a batch.
        steps: batches in all.

    Example:
        >>> round(Sampled(multiplier=1.0, rate=0.01, steps=1000).epsilon(1e-5), 1)
        1.8

    References:
        Mironov et al., Rényi Differential Privacy of the Sampled Gaussian Mechanism, 2019; Gopi et al., Numerical
        Composition of Differential Privacy, NeurIPS 2021.
    """

    multiplier: float
    rate: float
    steps: int

    def epsilon(self, delta: float) -> float:
        """After all steps."""
        if self.multiplier <= 0:
            return math.inf
        if self.rate >= 1 or not LEAST < self.multiplier < MOST:  # drawing hardly matters, and has no digits left
            return Gaussian(noise=self.multiplier, sensitivity=1.0, releases=self.steps).epsilon(delta)
        return _sampled_epsilon(self.multiplier, self.rate, self.steps, delta)


@dataclass(frozen=True, kw_only=True)
class Laplace:
    """Laplace noise on every entry of every release.

    Guarantees:
        Pure epsilons add up; for many releases advanced composition is taken where it is lower.

    Args:
        scale: of the noise.
        sensitivity: the largest **L1** distance of what two neighbours would release.
        releases: how many there are.

    Example:
        >>> Laplace(scale=2.0, sensitivity=1.0, releases=4).epsilon(1e-5)
        2.0

    References:
        Dwork and Roth, The Algorithmic Foundations of Differential Privacy, 2014, theorems 3.6 and 3.20.
    """

    scale: float
    sensitivity: float
    releases: int = 1

    def epsilon(self, delta: float) -> float:
        """Of all releases."""
        if self.scale <= 0:
            return math.inf
        one, times = self.sensitivity / self.scale, self.releases
        if one > 1:  # advanced composition cannot help
            return times * one
        return min(times * one, one * math.sqrt(2 * times * math.log(1 / delta)) + times * one * math.expm1(one))


@dataclass(frozen=True, kw_only=True)
class Pure:
    """Releases that each have a pure epsilon of their own, by a proof that is not ours: they add up.

    Args:
        each: epsilon of one release.
        releases: how many there are.
    """

    each: float
    releases: int = 1

    def epsilon(self, delta: float) -> float:
        """Of all releases; it holds at any delta."""
        return self.each * self.releases


@dataclass(frozen=True, kw_only=True)
class NoGuarantee:
    """Whatever it hides, no epsilon can be stated."""

    def epsilon(self, delta: float) -> float:
        """Infinite."""
        return math.inf


@lru_cache
def _sampled_epsilon(multiplier: float, rate: float, steps: int, delta: float) -> float:
    from seepage.defenses.dp_sgd import epsilon

    loose = epsilon(multiplier, rate, steps, delta)
    if loose > LARGE or (loose + 5) * math.sqrt(steps) > MANY or delta < SMALL:
        return loose
    from opacus.accountants import PRVAccountant  # takes seconds to load

    accountant = PRVAccountant()
    accountant.history = [(multiplier, rate, steps)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its arithmetic at the edges; what comes out is looked at
        try:
            tight = float(accountant.get_epsilon(delta))
        except (RuntimeError, ValueError):  # its grid has no digits for this delta; the looser bound stands
            return loose
    return min(loose, tight) if tight > 0 else loose


@lru_cache
def noise_of_target(target: float, delta: float, rate: float, epochs: int, accountant: str) -> float:
    """The noise multiplier that Opacus takes for a target epsilon, as ``make_private_with_epsilon`` does."""
    from opacus.accountants.utils import get_noise_multiplier

    if epochs / rate > MOST_STEPS or delta < SMALL:
        raise InputError(
            f"The noise for epsilon {target:g} over {epochs / rate:,.0f} batches at delta {delta:g} cannot be "
            "looked for; "
            f"at most {MOST_STEPS:,} batches and a delta of {SMALL:g} can be."
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return float(
                get_noise_multiplier(
                    target_epsilon=target,
                    target_delta=delta,
                    sample_rate=rate,
                    epochs=epochs,
                    accountant=accountant,
                )
            )
    except (RuntimeError, ValueError) as error:
        raise InputError(f"Opacus finds no noise for epsilon {target:g} at delta {delta:g}.") from error
