"""How long-running work tells where it is, without knowing who listens."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Called with a label, the work done so far, the whole, and now and then a few words on how it goes."""

    def __call__(self, label: str, done: int, total: int, note: str = "") -> None: ...


def under(context: str, progress: Progress) -> Progress:
    """The same with what the work is for in front of every label."""

    def told(label: str, done: int, total: int, note: str = "") -> None:
        progress(f"{context}: {label}", done, total, note)

    return told


def silent(label: str, done: int, total: int, note: str = "") -> None:
    """Nobody listens."""
