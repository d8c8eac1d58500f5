"""Gradient inversion: rows from updates by optimisation. Every attack here is a composition of parts."""

from seepage.attacks.inversion.dlg import dlg, dlg_lbfgs, idlg
from seepage.attacks.inversion.engine import Inversion, Runs
from seepage.attacks.inversion.fast import fast, fast_single
from seepage.attacks.inversion.gradient_matching import gradient_matching, gradient_matching_simplex
from seepage.attacks.inversion.gradinversion import gradinversion_bn, gradinversion_gc
from seepage.attacks.inversion.inverting_gradients import inverting_gradients
from seepage.attacks.inversion.profiling import profiling, profiling_simplex
from seepage.attacks.inversion.sapag import sapag
from seepage.attacks.inversion.tableak import (
    tableak,
    tableak_bounded,
    tableak_no_pooling,
    tableak_no_softmax,
    tableak_paper,
    tableak_paper_no_pooling,
    tableak_paper_no_softmax,
)

__all__ = [
    "Inversion",
    "Runs",
    "dlg",
    "dlg_lbfgs",
    "fast",
    "fast_single",
    "gradient_matching",
    "gradient_matching_simplex",
    "gradinversion_bn",
    "gradinversion_gc",
    "idlg",
    "inverting_gradients",
    "profiling",
    "profiling_simplex",
    "sapag",
    "tableak",
    "tableak_bounded",
    "tableak_no_pooling",
    "tableak_no_softmax",
    "tableak_paper",
    "tableak_paper_no_pooling",
    "tableak_paper_no_softmax",
]
