"""Names of files that a user gives."""

from __future__ import annotations

from pathlib import Path

from seepage._core.errors import InputError, shown


def user_path(name: str | Path) -> Path:
    """The path that a user named; one that no file can have is a sentence.

    Example:
        >>> user_path("runs/first").name
        'first'
    """
    if "\0" in str(name):
        raise InputError(f"{shown(str(name))} names no file or folder: it holds a zero byte.")
    return Path(name)
