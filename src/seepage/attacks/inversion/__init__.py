"""Gradient inversion: rows from updates by optimisation. Every attack here is a composition of parts."""

from seepage.attacks.inversion.dlg import dlg
from seepage.attacks.inversion.engine import Inversion
from seepage.attacks.inversion.gradient_matching import gradient_matching
from seepage.attacks.inversion.inverting_gradients import inverting_gradients
from seepage.attacks.inversion.sapag import sapag
from seepage.attacks.inversion.tableak import tableak, tableak_no_pooling, tableak_no_softmax

__all__ = [
    "Inversion",
    "dlg",
    "gradient_matching",
    "inverting_gradients",
    "sapag",
    "tableak",
    "tableak_no_pooling",
    "tableak_no_softmax",
]
