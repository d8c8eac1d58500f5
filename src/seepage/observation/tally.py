"""What an attack says of all rows behind an update together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, kw_only=True, eq=False)
class Estimate:
    """Numbers with an interval each.

    Args:
        middle, low, high: of equal shapes.
    """

    middle: np.ndarray
    low: np.ndarray
    high: np.ndarray


@dataclass(frozen=True, kw_only=True, eq=False)
class Tally:
    """What is claimed of all rows of an update: which categories there are, how many rows have each, and means.

    Args:
        present: for each categorical column (categories,): 1 somebody has it, 0 nobody, -1 the attacker cannot tell.
        counts: for each categorical column, rows with each category; None where the attack counts nothing.
        labels: rows with each class, where the attacker was not told.
        means: of each number, as an input of the model; None where clients scale with means of their own, which are 0.
        visible: rows that a category must have to be seen above the noise of the update; None where none would be seen.
        level: how often a true number lies in its interval, as the attack says.
    """

    present: tuple[np.ndarray, ...]
    counts: tuple[Estimate, ...] | None = None
    labels: Estimate | None = None
    means: Estimate | None = None
    visible: float | None = 1.0
    level: float = 0.9
