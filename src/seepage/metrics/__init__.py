"""Claim and truth to numbers; baselines beside them."""

from seepage.metrics.matching import l1_cost, match_rows
from seepage.metrics.reconstruction import TOLERANCE, Evaluator, aligned
from seepage.metrics.reference import Reference

__all__ = ["TOLERANCE", "Evaluator", "Reference", "aligned", "l1_cost", "match_rows"]
