"""Conditions on rows: what a property is made of. Each is called with a table."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from seepage.data.table import Table

COMPARE: dict[str, Callable[..., np.ndarray]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "in": np.isin, "not in": lambda cells, values: ~np.isin(cells, values),
}  # fmt: skip


@dataclass(frozen=True)
class NumberTest:
    """A numeric column beside a number."""

    column: str
    sign: str
    values: tuple[float, ...]

    def __call__(self, table: Table) -> np.ndarray:
        compared = self.values if "in" in self.sign else self.values[0]
        return COMPARE[self.sign](_numbers(table, self.column), compared)


@dataclass(frozen=True)
class CategoryTest:
    """A categorical column that holds one of these codes. An unknown category is code -1."""

    column: str
    codes: tuple[int, ...]

    def __call__(self, table: Table) -> np.ndarray:
        return np.isin(_codes(table, self.column), self.codes)


@dataclass(frozen=True)
class Every:
    """All parts hold."""

    parts: tuple[Condition, ...]

    def __call__(self, table: Table) -> np.ndarray:
        both: np.ndarray = np.logical_and.reduce([part(table) for part in self.parts])
        return both


@dataclass(frozen=True)
class Some:
    """At least one part holds."""

    parts: tuple[Condition, ...]

    def __call__(self, table: Table) -> np.ndarray:
        either: np.ndarray = np.logical_or.reduce([part(table) for part in self.parts])
        return either


@dataclass(frozen=True)
class Opposite:
    """The part does not hold."""

    part: Condition

    def __call__(self, table: Table) -> np.ndarray:
        return ~self.part(table)


@dataclass(frozen=True)
class Mean:
    """The numbers of a column."""

    column: str

    def __call__(self, table: Table) -> np.ndarray:
        return _numbers(table, self.column)


Condition = NumberTest | CategoryTest | Every | Some | Opposite


def _numbers(table: Table, name: str) -> np.ndarray:
    if name == table.schema.target.name:
        return table.target
    place = [column.name for column in table.schema.numeric].index(name)
    values: np.ndarray = table.numbers[:, place]
    return values


def _codes(table: Table, name: str) -> np.ndarray:
    if name == table.schema.target.name:
        return table.target
    place = [column.name for column in table.schema.categorical].index(name)
    codes: np.ndarray = table.codes[:, place]
    return codes
