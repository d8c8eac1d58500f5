"""Exposure: how often a client has gone through its data, and when a run ends or is attacked.

A client with n rows and batches of B has an effective size of floor(n / B) * B rows: incomplete batches are left out.
Its exposure after s processed rows is s divided by that. Runs end when the least exposed client reaches a target
(the profiling study, section 3.2), so that batch sizes are compared after the same amount of data, not of rounds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from seepage._core import InputError, unknown_name

INITIALIZED = "initialized"
FINAL = "final"


@dataclass(frozen=True)
class Clock:
    """Counts exposure for clients that all work at the same pace.

    Args:
        passes: rounds in which each client goes through its effective data once; a fraction below 1 is several
            passes a round.
    """

    passes: tuple[Fraction, ...]

    def exposures(self, rounds: int) -> tuple[float, ...]:
        """Every client's exposure after this many rounds."""
        return tuple(float(rounds / length) for length in self.passes)

    def rounds_until(self, exposure: float) -> int:
        """The first round after which the least exposed client has reached ``exposure``; the first round at least."""
        return max(1, math.ceil(Fraction(exposure).limit_denominator(10**6) * max(self.passes)))


def participants(clients: int, share: float) -> int:
    """How many clients take part in a round; one at least."""
    return max(1, round(clients * share))


def less_often(passes: Sequence[Fraction], share: float) -> Clock:
    """The clock of clients that take part in this share of the rounds. Exposure is what they have on average."""
    part = Fraction(participants(len(passes), share), len(passes))
    return Clock(tuple(length / part for length in passes))


class Schedule(Protocol):
    """Names the rounds in which updates are attacked."""

    def rounds(self, clock: Clock, total: int) -> dict[str, int]: ...


@dataclass(frozen=True, kw_only=True)
class Automatic:
    """The first round, about 25, 50 and 75 % of the way, and the last; ``keep`` chooses among them."""

    keep: tuple[str, ...] = (INITIALIZED, "25%", "50%", "75%", FINAL)

    def __post_init__(self) -> None:
        for name in self.keep:
            if name not in Automatic.keep:
                raise unknown_name("attack point", name, Automatic.keep)

    def rounds(self, clock: Clock, total: int) -> dict[str, int]:
        """The chosen rounds; several points may fall on one round of a short run."""
        points = {INITIALIZED: 1}
        points |= {f"{share}%": max(1, round(total * share / 100)) for share in (25, 50, 75)}
        points[FINAL] = total
        return {name: number for name, number in points.items() if name in self.keep}


EVERY_POINT = Automatic()


@dataclass(frozen=True, kw_only=True)
class Milestones:
    """The rounds whose work brings the least exposed client to each exposure; 0 is the first update."""

    exposures: tuple[float, ...] = (0, 1, 5, 10, 25)

    def __post_init__(self) -> None:
        if not self.exposures or not all(0 <= exposure < math.inf for exposure in self.exposures):
            raise InputError(f"Exposure milestones {list(self.exposures)}: at least one, none below 0.")

    def rounds(self, clock: Clock, total: int) -> dict[str, int]:
        """The chosen rounds; a milestone beyond the end of the run is an error."""
        points = {}
        for exposure in sorted(self.exposures):
            number = clock.rounds_until(exposure)
            if number > total:
                raise InputError(f"The run ends before exposure {exposure:g}; raise its exposure target.")
            points[milestone(exposure)] = number
        return points


def milestone(exposure: float) -> str:
    """What the attack point at an exposure is called."""
    return INITIALIZED if exposure == 0 else f"exposure {exposure:g}"
