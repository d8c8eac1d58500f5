"""What epsilon leaves of reading a row exactly, beside what guessing gets. Light: the report can use it."""

from __future__ import annotations

import math
from statistics import NormalDist

from seepage._core import InputError


def reconstruction_bound(guess: float, epsilon: float, delta: float = 0.0) -> float:
    r"""The most that anybody's chance of naming a row exactly can be.

    Somebody who never sees what is released names the row with probability :math:`p`. What is released with the row
    and without it differ by at most :math:`(\varepsilon, \delta)`, so whoever sees it names the row with at most

    .. math:: \min\big(e^\varepsilon p + \delta,\; 1 - e^{-\varepsilon}(1 - p - \delta)\big).

    Guarantees:
        It holds for any attack, any model and any knowledge of the other rows; epsilon must be about the unit that is
        read (a row), for one row more or less.

    Args:
        guess: :math:`p`, the chance without what is released.
        epsilon, delta: what was recomputed; an infinite epsilon leaves everything open.

    Example:
        >>> round(reconstruction_bound(0.001, epsilon=2.0, delta=1e-5), 4)
        0.0074
        >>> reconstruction_bound(0.001, epsilon=float("inf"))
        1.0

    References:
        Balle, Cherubin and Hayes, Reconstructing Training Data with Informed Adversaries, S&P 2022.
    """
    if not 0 <= guess <= 1:
        raise InputError(f"The chance of guessing is {guess}; it must be between 0 and 1.")
    if not epsilon >= 0 or not 0 <= delta <= 1:
        raise InputError(f"Epsilon is {epsilon} and delta {delta}; 0 or above, and 0 to 1, are needed.")
    grown = math.inf if epsilon > 700 else math.exp(epsilon) * guess  # e to the 710 is no float
    if guess == 0:
        grown = 0.0
    below = 1 - math.exp(-epsilon) * max(0.0, 1 - guess - delta)
    return min(1.0, grown + delta, below)


def gaussian_reconstruction_bound(guess: float, distance: float) -> float:
    r"""The same for Gaussian noise, where more is known than epsilon: :math:`\Phi(\Phi^{-1}(p) + \mu)`.

    Args:
        guess: the chance without what is released.
        distance: :math:`\mu`, how far apart two neighbours are over all releases, in deviations of the noise.

    Example:
        >>> round(gaussian_reconstruction_bound(0.001, 0.5), 4)
        0.0048

    References:
        Hayes, Mahloujifar and Balle, Bounding Training Data Reconstruction in DP-SGD, NeurIPS 2023.
    """
    if not 0 <= guess <= 1:
        raise InputError(f"The chance of guessing is {guess}; it must be between 0 and 1.")
    if guess in (0.0, 1.0):
        return guess
    if not math.isfinite(distance):
        return 1.0
    plain = NormalDist()
    return plain.cdf(plain.inv_cdf(guess) + distance)
