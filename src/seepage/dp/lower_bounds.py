"""Guesses that were right -> the epsilon that there must be at least, at a confidence.

Two ways: many runs with one canary (Clopper-Pearson), and one run with many canaries. Both say: if epsilon were lower,
so many right guesses would be too unlikely. Neither says how much more epsilon may be.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from seepage._core import InputError

CONFIDENCE = 0.95
_LARGEST = 60.0  # no number of guesses that fits into a machine shows more


def share_bounds(right: int, of: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Clopper-Pearson: the lowest and the highest share that so many right are likely for, each at this confidence.

    Example:
        >>> low, high = share_bounds(0, 59)
        >>> low, round(high, 3)
        (0.0, 0.05)
    """
    from scipy.stats import beta  # takes half a second to load

    if not 0 <= right <= of or of < 1:
        raise InputError(f"{right} of {of} cannot be right.")
    low = float(beta.ppf(1 - confidence, right, of - right + 1)) if right else 0.0
    high = float(beta.ppf(confidence, right + 1, of - right)) if right < of else 1.0
    return low, high


def many_runs_bound(
    hits: int, with_canary: int, alarms: int, without: int, delta: float, confidence: float = CONFIDENCE
) -> float:
    r"""Epsilon at least, from a guess that was made in runs with the canary and in runs without it.

    Any event obeys :math:`P[\text{with}] \le e^\varepsilon P[\text{without}] + \delta`.

    Args:
        hits, with_canary: runs with the canary that the guess said so of, and all of them.
        alarms, without: runs without it that the guess was wrong on, and all of them.
        delta: at which epsilon is stated.
        confidence: of the whole; each of the two shares gets half of the doubt.

    Example:
        >>> round(many_runs_bound(900, 1000, 10, 1000, delta=1e-5), 1)
        3.9

    References:
        Jagielski, Ullman and Oprea, Auditing Differentially Private Machine Learning, NeurIPS 2020.
    """
    half = 1 - (1 - confidence) / 2
    low = share_bounds(hits, with_canary, half)[0]
    high = share_bounds(alarms, without, half)[1]
    return max(0.0, math.log((low - delta) / high)) if low > delta else 0.0


def one_run_bound(canaries: int, guesses: int, right: int, delta: float, confidence: float = CONFIDENCE) -> float:
    """Epsilon at least, from one run in which each canary took part by a fair coin of its own.

    Guarantees:
        For every mechanism that is differentially private for one unit more or less, the bound is above its epsilon
        with probability at most ``1 - confidence``. How many guesses are made must not depend on which are right.

    Args:
        canaries: coins that were thrown.
        guesses: how many of them were guessed; the others were abstained from.
        right: of the guesses.
        delta: at which epsilon is stated.

    Example:
        >>> round(one_run_bound(1000, 100, 99, delta=1e-6), 1)
        3.0

    References:
        Steinke, Nasr and Jagielski, Privacy Auditing with One (1) Training Run, NeurIPS 2023, theorem 5.2.
    """
    if not 0 <= right <= guesses <= canaries or canaries < 1:
        raise InputError(f"{right} right of {guesses} guesses of {canaries} canaries cannot be.")
    if guesses == 0 or chance_of(canaries, guesses, right, 0.0, delta) > 1 - confidence:
        return 0.0
    low, high = 0.0, _LARGEST
    while high - low > 1e-4:
        middle = (low + high) / 2
        if chance_of(canaries, guesses, right, middle, delta) <= 1 - confidence:
            low = middle
        else:
            high = middle
    return low


def chance_of(canaries: int, guesses: int, right: int, epsilon: float, delta: float) -> float:
    r"""The largest chance of so many right guesses that this epsilon and delta allow.

    With pure privacy each guess is right with at most :math:`e^\varepsilon / (1 + e^\varepsilon)`, whatever the others
    are, so that their number lies below a binomial one, :math:`W`. Delta may add right guesses, in expectation at most
    :math:`2 m \delta`; adding :math:`i` of them moves the chance by :math:`P[W \ge v - i] - P[W \ge v]`, and the best
    that can be bought for an expectation is the largest of these per guess added:

    .. math:: P[W \ge v] + 2 m \delta \max_{1 \le i \le v} \frac{P[W \ge v - i] - P[W \ge v]}{i}
    """
    chances = np.exp(
        _log_ways(guesses) - np.arange(guesses + 1)[::-1] * epsilon - guesses * math.log1p(math.exp(-epsilon))
    )
    reached = float(chances[right:].sum())
    if delta == 0 or right == 0:
        return min(1.0, reached)
    gained = np.cumsum(chances[:right][::-1]) / np.arange(1, right + 1)
    return min(1.0, reached + 2 * canaries * delta * float(gained.max()))


@lru_cache(maxsize=64)
def _log_ways(guesses: int) -> np.ndarray:
    """Logarithms of the numbers of ways in which 0, 1, ... of the guesses can be right."""
    from scipy.special import gammaln  # takes half a second to load

    right = np.arange(guesses + 1)
    return np.asarray(gammaln(guesses + 1) - gammaln(right + 1) - gammaln(guesses - right + 1))


def best_guesses(scores: np.ndarray, coins: np.ndarray, guesses: int) -> int:
    """How many are right if the highest scores are said to be in, and as many of the lowest out.

    Args:
        scores: higher speaks for having taken part.
        coins: the truth.
        guesses: how many are made, half of them on each side.

    Example:
        >>> best_guesses(np.array([3.0, -1.0, 0.5, 2.0]), np.array([True, False, True, True]), 2)
        2
    """
    order = np.argsort(scores, kind="stable")
    low, high = order[: guesses // 2], order[len(order) - (guesses - guesses // 2) :]
    return int((~coins[low]).sum() + coins[high].sum())


def one_run(
    scores: np.ndarray, coins: np.ndarray, delta: float, confidence: float = CONFIDENCE
) -> tuple[float, int, int]:
    """The best bound over a few numbers of guesses that were fixed beforehand, with the doubt shared among them.

    Returns:
        Epsilon at least, the guesses made, and how many were right.

    Example:
        >>> draw = np.random.default_rng(0)
        >>> coins = draw.random(2000) < 0.5
        >>> bound, guesses, right = one_run(coins * 8.0 + draw.normal(size=2000), coins, delta=1e-6)
        >>> bound > 5
        True
    """
    canaries = len(coins)
    tried = sorted({max(2, round(canaries * share)) for share in (0.02, 0.1, 0.4, 1.0)} & set(range(1, canaries + 1)))
    if not tried:
        return 0.0, 0, 0
    each = 1 - (1 - confidence) / len(tried)
    found = []
    for guesses in tried:
        right = best_guesses(scores, coins, guesses)
        found.append((one_run_bound(canaries, guesses, right, delta, each), guesses, right))
    return max(found)
