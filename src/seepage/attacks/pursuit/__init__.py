"""More rows than any layer is wide: rows chosen out of all that many optimisations end at."""

from seepage.attacks.pursuit.attack import Pursuit

__all__ = ["Pursuit"]
