"""A table as plain text."""

from __future__ import annotations

from collections.abc import Sequence


def aligned(every: Sequence[Sequence[str]]) -> list[str]:
    """Lines whose cells stand below each other.

    Example:
        >>> aligned([["a", "b"], ["long", "c"]])
        ['a     b', 'long  c']
    """
    widths = [max(map(len, column)) for column in zip(*every, strict=True)]
    return ["  ".join(map(str.ljust, line, widths)).rstrip() for line in every]
