"""A mechanism alone, run many times on the two neighbours that are hardest to hide: a lower bound of epsilon."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from seepage.dp.lower_bounds import CONFIDENCE, many_runs_bound
from seepage.dp.mechanisms import Gaussian, Laplace, Mechanism, Sampled

RUNS = 1_000_000  # with the unit, and as many without
DRAWS = 20_000_000  # numbers drawn at most: batches of a long training are many


@dataclass(frozen=True, kw_only=True)
class Measured:
    """What was seen of a mechanism.

    Args:
        epsilon: the lower bound.
        runs: with the unit, and as many without, on which it stands.
        hits: of those with the unit, how many were told.
        alarms: of those without, how many were taken for it.
    """

    epsilon: float
    runs: int
    hits: int
    alarms: int


def measure(
    mechanism: Mechanism, delta: float, random: np.random.Generator, *, confidence: float = CONFIDENCE
) -> Measured | None:
    """Play a mechanism with a unit and without it, guess which it was, and count.

    The guess is the most powerful one: a limit on the likelihood ratio. Half of the runs choose the limit, the other
    half are counted.

    Returns:
        None for a mechanism that cannot be played.

    Example:
        >>> found = measure(Gaussian(noise=1.0, sensitivity=1.0), 1e-5, np.random.default_rng(0))
        >>> 1.5 < found.epsilon < Gaussian(noise=1.0, sensitivity=1.0).epsilon(1e-5)
        True
    """
    if isinstance(mechanism, Gaussian) and mechanism.noise <= 0:
        return Measured(epsilon=math.inf, runs=0, hits=0, alarms=0)
    steps = mechanism.steps if isinstance(mechanism, Sampled) else getattr(mechanism, "releases", 1)
    runs = RUNS if isinstance(mechanism, Gaussian) else max(2_000, min(RUNS, DRAWS // max(steps, 1)))
    if steps > DRAWS // 2_000 and not isinstance(mechanism, Gaussian):
        return None
    if not isinstance(mechanism, Gaussian | Laplace | Sampled):
        return None
    # Rounded: the last digits of a sum tell which numbers went into it, and real arithmetic has no such digits.
    ratios = [np.round(_ratios(mechanism, taking_part, 2 * runs, random), 9) for taking_part in (True, False)]
    choose, count = [each[:runs] for each in ratios], [each[runs:] for each in ratios]
    best, limit, turned = 0.0, math.inf, False
    for flip in (False, True):
        ins, outs = (-choose[1], -choose[0]) if flip else (choose[0], choose[1])
        for level in _levels(ins, outs):
            found = many_runs_bound(int((ins > level).sum()), runs, int((outs > level).sum()), runs, delta, confidence)
            if found > best:
                best, limit, turned = found, level, flip
    ins, outs = (-count[1], -count[0]) if turned else (count[0], count[1])
    hits, alarms = int((ins > limit).sum()), int((outs > limit).sum())
    return Measured(
        epsilon=many_runs_bound(hits, runs, alarms, runs, delta, confidence), runs=runs, hits=hits, alarms=alarms
    )


def _levels(ins: np.ndarray, outs: np.ndarray) -> list[float]:
    """Limits worth trying: from half of the false alarms to none, and halfway where the two do not overlap."""
    shares = [0.5, 0.2, 0.1, 0.03, 0.01, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5]
    ordered = np.sort(outs)
    return [float(ordered[min(len(outs) - 1, int(len(outs) * (1 - share)))]) for share in shares] + [
        max(float(ordered[-1]), (float(ordered[-1]) + float(ins.min())) / 2)
    ]


def _ratios(
    mechanism: Gaussian | Laplace | Sampled, taking_part: bool, runs: int, random: np.random.Generator
) -> np.ndarray:
    """Log-likelihood ratios of what was released in each run, or something that grows with them."""
    if isinstance(mechanism, Gaussian):
        return (mechanism.distance if taking_part else 0.0) + random.normal(size=runs)
    if isinstance(mechanism, Laplace):
        return _laplace(mechanism, taking_part, runs, random)
    return _sampled(mechanism, taking_part, runs, random)


def _laplace(mechanism: Laplace, taking_part: bool, runs: int, random: np.random.Generator) -> np.ndarray:
    far = mechanism.sensitivity / mechanism.scale
    total = np.zeros(runs)
    for _ in range(mechanism.releases):
        seen = far * taking_part + random.laplace(size=runs)
        total += np.abs(seen) - np.abs(seen - far)
    return total


def _sampled(mechanism: Sampled, taking_part: bool, runs: int, random: np.random.Generator) -> np.ndarray:
    """Batch after batch: the unit moves the sum by the clip whenever it is drawn."""
    noise, rate = mechanism.multiplier, mechanism.rate
    total = np.zeros(runs)
    for _ in range(mechanism.steps):
        drawn = (random.random(runs) < rate) * float(taking_part)
        seen = drawn + noise * random.normal(size=runs)
        with np.errstate(over="ignore"):
            total += np.logaddexp(
                math.log1p(-rate) if rate < 1 else -math.inf, math.log(rate) + (seen - 0.5) / noise**2
            )
    return total
