"""Attacks that read no single row but all of them together: what there is, and how much of it."""

from seepage.attacks.totals.counting import Counting
from seepage.attacks.totals.presence import Listing

__all__ = ["Counting", "Listing"]
