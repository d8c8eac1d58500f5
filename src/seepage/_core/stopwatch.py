"""Time that was taken, and how it is said."""

from __future__ import annotations

import time
from types import TracebackType


class Stopwatch:
    """Adds up the time inside its blocks, on the wall and of the processor."""

    def __init__(self) -> None:
        self.taken = self.computed = 0.0

    def __enter__(self) -> Stopwatch:
        self._begun = time.perf_counter(), time.process_time()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.taken += time.perf_counter() - self._begun[0]
        self.computed += time.process_time() - self._begun[1]

    @property
    def busy(self) -> float:
        """How many times as long something takes because others compute on this machine too; 1 if that is not known."""
        return max(1.0, self.taken / self.computed) if self.taken > 1 and self.computed > 0 else 1.0


def duration(seconds: float) -> str:
    """``53 s``, ``4 min``, ``1.5 h``."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:,.1f} h"
