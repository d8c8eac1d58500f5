"""The traffic light: how bad a setting is, and how bad a run is as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from seepage._core import Outcome
from seepage.results import Interval
from seepage.results.result import Result

SERIOUS_GAIN = 0.20  # this much above guessing is called a leak even when no row came back whole


class Level(Enum):
    """The light. The order is that of severity: the first is the worst.

    There is no word for "safe": an attack that found nothing proves nothing, and a failed one says nothing.
    """

    LEAKS = ("leaks", "Leaks")
    SOME = ("some", "Some leakage")
    INCOMPLETE = ("incomplete", "Not fully measured")
    NOT_FOUND = ("not-found", "No leak found")
    NOT_MEASURED = ("not-measured", "Not measured")

    def __init__(self, code: str, word: str) -> None:
        self.code = code
        self.word = word

    @property
    def severity(self) -> int:
        """Larger is worse."""
        return len(Level) - list(Level).index(self)


def beats_guessing(gain: Interval | None) -> bool:
    """Whether more was read than guessing gets, beyond doubt: the whole interval lies above zero."""
    return gain is not None and (gain.mean if gain.low is None else gain.low) > 0


def level_of(result: Result, gain: Interval | None, *, reads_rows: bool = False, proven: bool = False) -> Level:
    """Where a setting stands.

    Args:
        gain: what was read beyond the best guess.
        reads_rows: more rows were read, nearly at least, than any guess gets.
        proven: the attacker has a proof of some of them. Of all others it may tell less than a guess does.
    """
    if not result.measured:
        return Level.NOT_MEASURED
    serious = reads_rows or (gain is not None and gain.mean >= SERIOUS_GAIN)
    if (beats_guessing(gain) and serious) or (reads_rows and proven):
        return Level.LEAKS
    if beats_guessing(gain) or reads_rows:
        return Level.SOME
    spent = result.outcome == Outcome.BUDGET_SPENT.code  # with more steps it might have read more
    # An interval that reaches up to a serious gain does not say that there is none.
    wide = gain is None or gain.high is None or gain.high >= SERIOUS_GAIN
    unsure = spent or result.failed > 0 or wide
    return Level.INCOMPLETE if unsure else Level.NOT_FOUND


def overall(levels: Sequence[Level]) -> Level:
    """The light of a run: the worst finding, and never better than what could be measured."""
    for level in (Level.LEAKS, Level.SOME):
        if level in levels:
            return level
    if all(level is Level.NOT_MEASURED for level in levels):
        return Level.NOT_MEASURED
    return Level.NOT_FOUND if all(level is Level.NOT_FOUND for level in levels) else Level.INCOMPLETE
