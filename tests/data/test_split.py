"""Every row lands in exactly one part, classes keep their shares, groups stay whole."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seepage._core import InputError
from seepage.data import Splits, Table, clinic, infer_schema, split, split_by_group

from .strategies import tables


def numbered(table: Table) -> Table:
    """The same rows with their number as the only number, so that they can be told apart."""
    rows = np.arange(len(table))
    return Table(table.schema, rows[:, None].astype(float), table.codes, table.target)


def rows_of(parts: Splits) -> list[np.ndarray]:
    return [part.numbers[:, 0].astype(int) for part in (parts.train, parts.validation, parts.test)]


@given(tables(min_rows=3), st.integers(0, 99))
def test_no_row_is_lost_or_doubled(table: Table, seed: int) -> None:
    parts = rows_of(split(numbered(table), np.random.default_rng(seed)))
    assert sorted(np.concatenate(parts)) == list(range(len(table)))
    assert min(map(len, parts)) >= 1


def clinic_table(rows: int) -> Table:
    frame = clinic(rows)
    return Table.from_frame(frame, infer_schema(frame, "died"))


def test_sizes_and_classes_keep_their_shares() -> None:
    table = clinic_table(4000)
    parts = split(table, np.random.default_rng(1))
    assert [len(p) for p in (parts.train, parts.validation, parts.test)] == [2800, 600, 600]
    for part in (parts.train, parts.validation, parts.test):
        assert part.target.sum() == pytest.approx(table.target.mean() * len(part), abs=1)


def test_the_same_generator_gives_the_same_split() -> None:
    table = numbered(clinic_table(200))
    first, again = (rows_of(split(table, np.random.default_rng(3))) for _ in range(2))
    other = rows_of(split(table, np.random.default_rng(4)))
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert not np.array_equal(first[0], other[0])


def test_bad_fractions_and_too_few_rows() -> None:
    table = clinic_table(200)
    with pytest.raises(InputError, match="must be positive and sum to 1"):
        split(table, np.random.default_rng(0), fractions=(0.5, 0.2, 0.2))
    with pytest.raises(InputError, match="at least 3 are needed"):
        split(table.take(np.arange(2)), np.random.default_rng(0))


@given(tables(min_rows=30, max_rows=60), st.integers(0, 99))
def test_a_group_is_never_cut(table: Table, seed: int) -> None:
    generator = np.random.default_rng(seed)
    groups = generator.integers(0, 25, len(table))
    try:
        parts = rows_of(split_by_group(numbered(table), groups, generator))
    except InputError:
        return  # too few groups of a class
    assert sorted(np.concatenate(parts)) == list(range(len(table)))
    owners = [set(groups[rows]) for rows in parts]
    assert sum(map(len, owners)) == len(set.union(*owners))


def test_groups_keep_about_the_fractions_and_spread_the_positives() -> None:
    table = clinic_table(4000)
    groups = np.arange(4000) // 2
    parts = split_by_group(table, groups, np.random.default_rng(0))
    sizes = [len(p) / 4000 for p in (parts.train, parts.validation, parts.test)]
    assert sizes == pytest.approx([0.7, 0.15, 0.15], abs=0.005)
    assert all(part.target.mean() > 0.015 for part in (parts.train, parts.validation, parts.test))


def test_too_few_groups_and_a_wrong_length_are_said() -> None:
    table = clinic_table(200)
    with pytest.raises(InputError, match="too few to cut"):
        split_by_group(table, np.zeros(200), np.random.default_rng(0))
    with pytest.raises(InputError, match="3 group entries for 200 rows"):
        split_by_group(table, np.zeros(3), np.random.default_rng(0))


@pytest.mark.parametrize("kind", ["text", "number"])
def test_an_empty_group_cell_is_a_group_of_its_own(kind: str) -> None:
    table = numbered(clinic_table(300))
    numbers = np.arange(300) // 4
    names: list[object] = [f"p{number}" for number in numbers] if kind == "text" else [float(n) for n in numbers]
    for row in range(0, 300, 3):
        names[row] = None if kind == "text" else float("nan")
    groups = np.array(names, dtype=object if kind == "text" else float)
    parts = rows_of(split_by_group(table, groups, np.random.default_rng(0)))
    assert sorted(np.concatenate(parts)) == list(range(300))
    empty = [{int(row) for row in rows if row % 3 == 0} for rows in parts]
    assert all(empty)  # they are spread
    owners = [{int(row) // 4 for row in rows if row % 3} for rows in parts]
    assert sum(map(len, owners)) == len(set.union(*owners))
