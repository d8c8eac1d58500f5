"""Gradient matching as the profiling study's public code runs it."""

from __future__ import annotations

from dataclasses import replace

from seepage.attacks.inversion.categories import CutSimplex
from seepage.attacks.inversion.engine import Inversion
from seepage.attacks.inversion.gradient_matching import gradient_matching
from seepage.attacks.inversion.optimisers import Adam
from seepage.attacks.inversion.starts import Coded


def profiling() -> Inversion:
    """``gradient_matching`` with what the text leaves open, as the public code has it.

    The step size falls to a tenth, not to zero. Embedded categories start at one category each, at logits of 5 and -5.
    The rest of the study's set-up is of the clients: ``mlp:start=xavier``, ``targets=none``, ``local_order=kept`` and
    ``only_local_rows`` (see the plans in ``reproductions/profiling``).

    References:
        Nilsson et al., Profiling privacy preservation, 2026 (the profiling study), and its code,
        scaleoutsystems/tabular-GIA.

    Example:
        >>> profiling().optimiser.schedule
        'tenth'
    """
    return replace(gradient_matching(), initial=Coded(), optimiser=Adam(rate=0.06, schedule="tenth"))


def profiling_simplex() -> Inversion:
    """The study's other parameterisation of embedded categories: the probability simplex, begun at its corners.

    References:
        Nilsson et al., Profiling privacy preservation, 2026 (the profiling study), and its code,
        scaleoutsystems/tabular-GIA.

    Example:
        >>> profiling_simplex().embedded
        CutSimplex()
    """
    return replace(profiling(), embedded=CutSimplex(), initial=Coded(chosen=1.0, others=0.0))
