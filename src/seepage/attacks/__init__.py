"""Attacks: observations in, claims out. An attack sees neither the truth nor the metrics."""

from seepage.attacks.attack import Attack, Attacker, RowsAttack, Together, attacked
from seepage.attacks.exact import Exact
from seepage.attacks.inversion import Inversion

__all__ = ["Attack", "Attacker", "Exact", "Inversion", "RowsAttack", "Together", "attacked"]
