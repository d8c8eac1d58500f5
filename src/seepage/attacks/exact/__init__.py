"""Exact inversion: what the algebra of an update gives away, without guessing."""

from seepage.attacks.exact.cascade import Exact
from seepage.attacks.exact.presence import Presence, State, presence_of

__all__ = ["Exact", "Presence", "State", "presence_of"]
