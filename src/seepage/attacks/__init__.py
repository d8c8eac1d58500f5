"""Attacks: observations in, claims out. An attack sees neither the truth nor the metrics."""

from seepage.attacks.attack import Attack
from seepage.attacks.exact import Exact
from seepage.attacks.inversion import Inversion

__all__ = ["Attack", "Exact", "Inversion"]
