"""What several rounds of a client tell together: categories that somebody was said to have in any of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from seepage.observation import Claim

LISTING = "presence"  # the attack whose answers are joined: it takes milliseconds, so earlier rounds are asked again


def listed_so_far(claims: Sequence[Claim]) -> list[int | None]:
    """For each claim, how many categories it or one before it says that somebody has; None where it says nothing.

    That nobody has a category is said of one round only: in the next one a client may train on other rows.
    """
    union: list[np.ndarray] = []
    found: list[int | None] = []
    for claim in claims:
        if claim.tally is None or not claim.outcome.scored:
            found.append(None)
            continue
        states = [each == 1 for each in claim.tally.present]
        union = [one | other for one, other in zip(union, states, strict=True)] if union else states
        found.append(int(sum(each.sum() for each in union)))
    return found
