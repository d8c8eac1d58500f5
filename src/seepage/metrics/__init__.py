"""Claim and truth to numbers; baselines beside them."""

from seepage.metrics.latent import Quality, latent_quality, mean_quality
from seepage.metrics.matching import MATCHINGS, l1_cost, match_rows
from seepage.metrics.parties import ColumnsRead, binary_found, columns_read, label_leak_auc, psnr, psnr_of_tiles
from seepage.metrics.reconstruction import TOLERANCE, Evaluator, aligned
from seepage.metrics.reference import Reference
from seepage.metrics.untold import Calibration, untold_measures

__all__ = [
    "MATCHINGS",
    "TOLERANCE",
    "Calibration",
    "ColumnsRead",
    "Evaluator",
    "Quality",
    "Reference",
    "aligned",
    "binary_found",
    "columns_read",
    "l1_cost",
    "label_leak_auc",
    "latent_quality",
    "match_rows",
    "mean_quality",
    "psnr",
    "psnr_of_tiles",
    "untold_measures",
]
