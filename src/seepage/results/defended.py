"""Whether a defence held: judged by the better of an attacker who is blind to it and one who knows its settings."""

from __future__ import annotations

from enum import Enum

from seepage.results.interval import Interval

ADAPTIVE = "adaptive"  # the attack on rows that knows the defence


class Defended(Enum):
    """How a defence came out, for one adversary, one model and one batch size."""

    HELD = "held"
    BROKEN = "broken"
    NOT_TESTED = "not tested"


def judge(naive: Interval | None, adaptive: Interval | None, guess: Interval | None) -> Defended:
    """Broken if the better attack surely reads more than the best guess; held if neither does; else not tested.

    An attack that failed has no number. A defence cannot be called held by an attacker who does not know it, so that
    without the adaptive attack it is broken or not tested. Nor can it by a single update, whose spread is unknown.

    Args:
        naive, adaptive: shares of cells that were read, None where an attack gave nothing to score.
        guess: what the best guess gets.

    Example:
        >>> judge(Interval(0.5, 0.4, 0.6), Interval(0.9, 0.8, 1.0), Interval(0.55, 0.5, 0.6)).value
        'broken'
        >>> judge(Interval(0.5, 0.4, 0.6), None, Interval(0.55, 0.5, 0.6)).value
        'not tested'
    """
    tried = [each for each in (naive, adaptive) if each is not None]
    if guess is None or not tried:
        return Defended.NOT_TESTED
    if any(each.low is not None and each.low > guess.mean for each in tried):
        return Defended.BROKEN
    return Defended.NOT_TESTED if adaptive is None or adaptive.low is None else Defended.HELD
