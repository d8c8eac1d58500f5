"""Step sizes over time, as a factor of the first one."""

from __future__ import annotations

import math


def constant(step: int, steps: int) -> float:
    """Always the same."""
    return 1.0


def linear(step: int, steps: int) -> float:
    """Straight down to zero."""
    return 1 - (step - 1) / steps


def tenth(step: int, steps: int) -> float:
    """Straight down to a tenth, as the profiling study's public code does."""
    return 1 - 0.9 * (step - 1) / steps


def cosine(step: int, steps: int) -> float:
    """Half a cosine, down to zero."""
    return 0.5 * (1 + math.cos(math.pi * (step - 1) / steps))


SCHEDULES = {"constant": constant, "linear": linear, "tenth": tenth, "cosine": cosine}
