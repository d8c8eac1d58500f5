"""The time of a search: what is gone, and an end to work that would take longer."""

from __future__ import annotations

import re
import time

from seepage._core import InputError, Progress

SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0}


class OutOfTime(BaseException):
    """The budget is gone. No ``Exception``: an attack that is stopped has not failed, and must not be counted so."""


class Clock:
    """Seconds of a search: of earlier sessions in runs, of this one in all.

    Example:
        >>> clock = Clock(budget=60.0, before=10.0)
        >>> 10.0 <= clock.used < 11.0
        True
    """

    def __init__(self, budget: float, before: float) -> None:
        self._budget, self._before, self._begun = budget, before, time.monotonic()
        self._lap = self._begun

    @property
    def used(self) -> float:
        """Seconds that are gone."""
        return self._before + time.monotonic() - self._begun

    def start(self) -> None:
        """A piece of work begins."""
        self._lap = time.monotonic()

    def lap(self) -> float:
        """Seconds since it began."""
        return time.monotonic() - self._lap

    def ending(self, progress: Progress) -> Progress:
        """Progress that is told on, and that stops the work when the budget is gone: work tells it all the time."""

        def told(label: str, done: int, total: int, note: str = "") -> None:
            progress(label, done, total, note)
            if self.used > self._budget:
                raise OutOfTime

        return told


def seconds_of(text: str) -> float:
    """A time such as ``90s``, ``30m`` or ``1.5h`` in seconds.

    Example:
        >>> seconds_of("1.5h")
        5400.0
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smh])", text.strip())
    if not match or float(match[1]) == 0:
        raise InputError(f"--budget {text!r} is not a time: a number above 0 and s, m or h, such as 30m.")
    return float(match[1]) * SECONDS[match[2]]
