"""The regularisers of GradInversion, on rows instead of images."""

from __future__ import annotations

from dataclasses import replace

from seepage.attacks.inversion.engine import Inversion
from seepage.attacks.inversion.inverting_gradients import inverting_gradients
from seepage.attacks.inversion.pooling import Ensemble
from seepage.attacks.inversion.priors import BatchStatistics, GroupConsistency


def gradinversion_bn() -> Inversion:
    r"""Cosine matching with the BatchNorm prior: :math:`d(u, \hat u) + w \sum_l |\mu_l(x) - \mu_l|^2 + ...`.

    Needs a model with BatchNorm. CAFE compares with it as "BN".

    References:
        Yin et al., See Through Gradients (GradInversion), CVPR 2021.

    Example:
        >>> gradinversion_bn().priors[0].weight
        0.001
    """
    return replace(inverting_gradients(), priors=(BatchStatistics(),), restorer="yin")


def gradinversion_gc() -> Inversion:
    r"""Cosine matching of 8 restarts that are drawn towards their mean: :math:`d(u, \hat u) + w |x_r - \bar x|^2`.

    CAFE compares with it as "GC".

    References:
        Yin et al., See Through Gradients (GradInversion), CVPR 2021.

    Example:
        >>> gradinversion_gc().restarts
        8
    """
    return replace(
        inverting_gradients(), restarts=8, priors=(GroupConsistency(),), pooling=Ensemble(how="mean"), restorer="yin"
    )
