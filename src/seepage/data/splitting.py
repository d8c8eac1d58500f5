"""Training, validation and test rows: 70/15/15, stratified for classes, shuffled for regression."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from seepage._core import InputError
from seepage.data.table import Table


@dataclass(frozen=True)
class Splits:
    train: Table
    validation: Table
    test: Table


def split(
    table: Table, generator: np.random.Generator, *, fractions: tuple[float, float, float] = (0.7, 0.15, 0.15)
) -> Splits:
    """Cut a table in three. Every row lands in exactly one part.

    Classes keep their shares: a row's place is its rank inside its class as a fraction, so a cut anywhere
    cuts every class at the same fraction, and the sizes of the parts are exact.
    """
    if len(table) < 3:
        raise InputError(f"The table has {len(table)} row(s) with a target; at least 3 are needed.")
    _check_fractions(fractions)
    order = stratified_order(table, generator)
    first = int(np.clip(round(fractions[0] * len(table)), 1, len(table) - 2))
    second = int(np.clip(round((fractions[0] + fractions[1]) * len(table)), first + 1, len(table) - 1))
    parts = np.split(order, [first, second])
    return Splits(*(table.take(np.sort(part)) for part in parts))


def stratified_order(table: Table, generator: np.random.Generator) -> np.ndarray:
    """A random order of the rows in which any stretch holds the classes in proportion (regression: any
    order).
    """
    if table.schema.target.task == "regression":
        return generator.permutation(len(table))
    return class_order(table.target, generator)


def class_order(labels: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """A random order of labelled rows in which any stretch holds the classes in proportion."""
    shuffled = generator.permutation(len(labels))
    place = np.empty(len(labels))
    for label in np.unique(labels):
        members = shuffled[labels[shuffled] == label]
        place[members] = (np.arange(len(members)) + 0.5) / len(members)
    order: np.ndarray = shuffled[np.argsort(place[shuffled], kind="stable")]
    return order


def split_by_group(
    table: Table,
    groups: np.ndarray,
    generator: np.random.Generator,
    *,
    fractions: tuple[float, float, float] = (0.7, 0.15, 0.15),
) -> Splits:
    """Cut a table in three so that no group (a patient, a member) has rows in two parts.

    Groups are dealt by their highest class, so that rare positives reach every part; the sizes are as near to
    the fractions as whole groups allow.

    Args:
        table: the rows.
        groups: (rows,) whose row it is; a row with an empty cell (None, NaN) is a group of its own.
        generator: for the order of the groups.
        fractions: of rows.
    """
    if len(groups) != len(table):
        raise InputError(f"There are {len(groups)} group entries for {len(table)} rows.")
    _check_fractions(fractions)
    member = _members(groups)
    sizes = np.bincount(member)
    label = np.zeros(len(sizes), dtype=np.int64)
    if table.schema.target.task != "regression":
        np.maximum.at(label, member, table.target)
    part = np.empty(len(sizes), dtype=np.int64)
    for value in np.unique(label):
        order = generator.permutation(np.flatnonzero(label == value))
        middle = np.cumsum(sizes[order]) - sizes[order] / 2
        part[order] = np.searchsorted(np.cumsum(fractions)[:2], middle / sizes[order].sum())
    parts = [np.flatnonzero(part[member] == which) for which in range(3)]
    if min(map(len, parts)) == 0:
        raise InputError(f"{len(sizes)} groups of rows are too few to cut the table in three.")
    return Splits(*(table.take(rows) for rows in parts))


def _members(groups: np.ndarray) -> np.ndarray:
    """The number of each row's group. Nobody knows whose row an empty cell is, so it shares with no other."""
    empty = np.array([cell is None or cell != cell for cell in groups.tolist()], dtype=bool)
    names, inverse = np.unique(groups[~empty], return_inverse=True)
    member = np.empty(len(groups), dtype=np.int64)
    member[~empty] = inverse
    member[empty] = len(names) + np.arange(int(empty.sum()))
    return member


def _check_fractions(fractions: tuple[float, float, float]) -> None:
    if abs(sum(fractions) - 1) > 1e-9 or min(fractions) <= 0:
        raise InputError(f"Split fractions {fractions} must be positive and sum to 1.")
