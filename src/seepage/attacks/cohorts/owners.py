r"""Whose something is, from the rounds in which it shows: pure logic on cohorts.

Something (a row, a category) is present in some rounds and absent in others. A client that took part in a round in
which it is absent does not have it. So all who may have it are :math:`U`, those who took part in no such round. If in
some round in which it is present all of the cohort but one are ruled out, that one has it. This stays true if several
clients have it. It rests on clients that train on the same rows in every round; a client that draws other rows each
time may have it and not show it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

PRESENT, ABSENT, UNKNOWN = 1, 0, -1


def owner_of(states: Sequence[int] | np.ndarray, cohorts: Sequence[Sequence[int]]) -> int:
    """The client that has it, or -1 where it cannot be told.

    Args:
        states: for each round 1 present, 0 absent, -1 unknown.
        cohorts: who took part in each.

    Example:
        >>> owner_of([1, 0], [(1, 2), (2, 3)])
        1
        >>> owner_of([1, 1], [(1, 2), (2, 3)])
        -1
    """
    holders = holders_of(states, cohorts)
    return holders[0] if holders else -1


def holders_of(states: Sequence[int] | np.ndarray, cohorts: Sequence[Sequence[int]]) -> list[int]:
    """All clients that must have it, in ascending order.

    Example:
        >>> holders_of([1, 1, 0], [(1, 2), (3, 4), (2, 4)])
        [1, 3]
    """
    known = list(zip(states, cohorts, strict=True))
    out = {client for state, cohort in known if state == ABSENT for client in cohort}
    left = [set(cohort) - out for state, cohort in known if state == PRESENT]
    return sorted({client for rest in left if len(rest) == 1 for client in rest})


def sole_owner_of(states: Sequence[int] | np.ndarray, cohorts: Sequence[Sequence[int]]) -> int:
    """The client that has it if only one client does, or -1: it took part whenever it showed, and never when not.

    Example:
        >>> sole_owner_of([1, 1], [(1, 2), (2, 3)])
        2
        >>> sole_owner_of([1, -1], [(1, 2), (2, 3)])
        -1
    """
    known = list(zip(states, cohorts, strict=True))
    present = [set(cohort) for state, cohort in known if state == PRESENT]
    if not present:
        return -1
    left = set.intersection(*present) - {client for state, cohort in known if state == ABSENT for client in cohort}
    return left.pop() if len(left) == 1 else -1
