"""Numbers with their words."""

from __future__ import annotations


def counted(number: int, word: str, several: str = "") -> str:
    """``1 task``, ``12 tasks``, ``2 recoveries``."""
    return f"{number:,} {word if number == 1 else several or f'{word}s'}"
