"""Deep leakage from gradients, with and without labels."""

from __future__ import annotations

from dataclasses import replace

from seepage.attacks.inversion.engine import Inversion
from seepage.attacks.inversion.objectives import Squared
from seepage.attacks.inversion.optimisers import LBFGS, Adam
from seepage.attacks.inversion.starts import Gaussian


def dlg() -> Inversion:
    r"""Rows and labels together: :math:`\min_{x, y} |\hat u(x, y) - u|^2` from a Gaussian start.

    Labels that are not known are variables too: a probability for every class, or a number.

    NOTE[DIFF] the paper uses L-BFGS, which here is ``dlg_lbfgs``. On ReLU nets without a line search it stalls; Adam
    with a cosine schedule does not.

    References:
        Zhu et al., Deep Leakage from Gradients, NeurIPS 2019.

    Example:
        >>> dlg().targets
        'joint'
    """
    return Inversion(
        steps=1500,
        objective=Squared(),
        initial=Gaussian(),
        optimiser=Adam(rate=0.06, schedule="cosine"),
        targets="joint",
    )


def dlg_lbfgs() -> Inversion:
    """DLG with the paper's optimiser: L-BFGS at a step size of 1, 300 steps.

    References:
        Zhu et al., Deep Leakage from Gradients, NeurIPS 2019.

    Example:
        >>> dlg_lbfgs().steps
        300
    """
    return replace(dlg(), steps=300, optimiser=LBFGS())


def idlg() -> Inversion:
    r"""DLG with labels worked out first: the sign of the last layer's gradient tells the class of a single row.

    For more rows than one the restorer says that it does not apply, and labels are variables as in DLG.

    References:
        Zhao et al., iDLG: Improved Deep Leakage from Gradients, 2020.

    Example:
        >>> idlg().restorer
        'idlg'
    """
    return replace(dlg(), restorer="idlg")
