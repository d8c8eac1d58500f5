"""Exact inversion: what the algebra of an update gives away, without guessing."""

from seepage.attacks.exact.cascade import Exact
from seepage.attacks.exact.presence import Presence, State, presence_of
from seepage.attacks.exact.rounds import ExactRounds

__all__ = ["Exact", "ExactRounds", "Presence", "State", "presence_of"]
