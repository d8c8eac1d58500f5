"""Deep leakage from gradients."""

from __future__ import annotations

from seepage.attacks.inversion.engine import Inversion
from seepage.attacks.inversion.objectives import Squared
from seepage.attacks.inversion.optimisers import Adam
from seepage.attacks.inversion.starts import Gaussian


def dlg() -> Inversion:
    """Squared distance of the gradients, Gaussian start.

    NOTE[DIFF] the paper uses L-BFGS and optimises labels too. Here it is Adam with a cosine schedule, and labels are
    known or dummies.

    References:
        Zhu et al., Deep Leakage from Gradients, NeurIPS 2019.
    """
    return Inversion(steps=1500, objective=Squared(), start=Gaussian(), optimiser=Adam(rate=0.06, schedule="cosine"))
