"""Cells that stand together, and the mean of a number over them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

from seepage.results import Interval, bootstrap

T = TypeVar("T")


def together(items: Iterable[T], key: Callable[[T], Hashable]) -> list[list[T]]:
    """Those with the same key, in the order in which they come."""
    groups: dict[Hashable, list[T]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return list(groups.values())


def mean_over(values: Iterable[float | None]) -> tuple[Interval | None, int]:
    """The mean of the values that are there, with its interval, and how many there are."""
    known = [value for value in values if value is not None]
    return bootstrap(known), len(known)
