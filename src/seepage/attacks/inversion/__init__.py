"""Gradient inversion: rows from updates by optimisation."""

from seepage.attacks.inversion.gradient_matching import GradientMatching

__all__ = ["GradientMatching"]
