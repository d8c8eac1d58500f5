"""Attacks by those who know the defence."""

from seepage.attacks.adaptive.attack import Adaptive

__all__ = ["Adaptive"]
