"""How long-running work tells where it is, without knowing who listens."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Called with a label, the work done so far, the whole, and now and then a few words on how it goes."""

    def __call__(self, label: str, done: int, total: int, note: str = "") -> None: ...


def silent(label: str, done: int, total: int, note: str = "") -> None:
    """Nobody listens."""
