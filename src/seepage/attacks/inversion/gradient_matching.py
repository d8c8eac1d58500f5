"""Gradient matching as the profiling study describes it."""

from __future__ import annotations

from dataclasses import replace

from seepage.attacks.inversion.categories import Simplex
from seepage.attacks.inversion.engine import Inversion
from seepage.attacks.inversion.optimisers import Adam
from seepage.attacks.inversion.starts import Gaussian


def gradient_matching() -> Inversion:
    """Cosine objective, Gaussian start, Adam at 0.06 with linear decay, 10,000 steps, one run.

    Categories behind an embedding are a softmax over logits that start at 5 times Gaussian noise (its "categorical
    logits").

    References:
        Nilsson et al., Profiling privacy preservation, 2026 (the profiling study), section 3.5.
        Geiping et al., Inverting Gradients, NeurIPS 2020.

    Example:
        >>> gradient_matching().steps
        10000
    """
    return Inversion(steps=10_000, initial=Gaussian(embedded=5.0), optimiser=Adam(rate=0.06, schedule="linear"))


def gradient_matching_simplex() -> Inversion:
    r"""The other parameterisation of the profiling study for embedded categories: :math:`|z| / \sum |z|` instead of a
    softmax.

    Without embeddings it is ``gradient_matching``.

    References:
        Nilsson et al., Profiling privacy preservation, 2026 (the profiling study), the probability-simplex variant.

    Example:
        >>> gradient_matching_simplex().embedded
        Simplex()
    """
    return replace(gradient_matching(), embedded=Simplex(), initial=Gaussian(embedded=1.0))
