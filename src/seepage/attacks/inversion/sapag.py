"""SAPAG: a Gaussian kernel as the distance."""

from __future__ import annotations

from seepage.attacks.inversion.engine import Inversion
from seepage.attacks.inversion.objectives import GaussianKernel
from seepage.attacks.inversion.optimisers import Adam
from seepage.attacks.inversion.starts import Gaussian


def sapag() -> Inversion:
    """Self-adaptive Gaussian kernel per layer, Gaussian start, Adam with a cosine schedule.

    References:
        Wang et al., SAPAG: A Self-Adaptive Privacy Attack From Gradients, 2020.

    Example:
        >>> sapag().steps
        1500
    """
    adam = Adam(rate=0.06, schedule="cosine")
    return Inversion(steps=1500, objective=GaussianKernel(), initial=Gaussian(), optimiser=adam)
