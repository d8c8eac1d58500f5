"""Inverting Gradients, the "Cosine" baseline of TabLeak."""

from __future__ import annotations

from seepage.attacks.inversion.engine import Inversion
from seepage.attacks.inversion.optimisers import Adam
from seepage.attacks.inversion.starts import Uniform


def inverting_gradients() -> Inversion:
    """Cosine objective, one run of free variables, Adam at a constant 0.06 on the signs of the gradient, 1,500 steps.

    References:
        Geiping et al., Inverting Gradients, NeurIPS 2020; the set-up is TabLeak's.

    Example:
        >>> inverting_gradients().optimiser.signed
        True
    """
    optimiser = Adam(rate=0.06, schedule="constant", signed=True)
    return Inversion(steps=1500, initial=Uniform(), optimiser=optimiser)
