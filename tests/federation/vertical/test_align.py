from __future__ import annotations

import secrets

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from seepage._core import InputError
from seepage.federation.vertical.align import align, hash_keys, match

SALT = bytes(range(16))
KEYS = st.integers(-(10**20), 10**20) | st.text(min_size=1).filter(lambda text: bool(text.strip()))


def plain(key: object) -> str:
    """An independent reading of the rule, for texts that have one Unicode form."""
    return str(key).strip()


@st.composite
def key_columns(draw: st.DrawFn) -> dict[str, list[object]]:
    """Key columns of two to four parties, with people that all of them have; written as numbers or padded texts."""
    core = draw(st.sets(st.integers(0, 30), min_size=1, max_size=9))
    columns: dict[str, list[object]] = {}
    for party in draw(st.lists(st.text(max_size=4), min_size=2, max_size=4, unique=True)):
        people = draw(st.permutations(sorted(core | draw(st.sets(st.integers(0, 30), max_size=9)))))
        columns[party] = [person if draw(st.booleans()) else f" {person}\t" for person in people]
    return columns


@given(key_columns(), st.randoms())
def test_aligned_rows_are_the_same_people_whatever_the_order_of_rows(columns, random) -> None:
    shared = set.intersection(*({plain(key) for key in column} for column in columns.values()))
    found = align(columns, salt=SALT)
    assert found.matched == len(shared)
    people = {party: [plain(columns[party][row]) for row in rows] for party, rows in found.rows.items()}
    first = next(iter(people.values()))
    assert all(aligned == first for aligned in people.values())
    assert set(first) == shared
    assert found.only == {party: len(column) - len(shared) for party, column in columns.items()}

    shuffled = {party: random.sample(column, len(column)) for party, column in columns.items()}
    again = align(shuffled, salt=SALT)
    assert (again.matched, again.only) == (found.matched, found.only)
    for party, rows in again.rows.items():
        assert [plain(shuffled[party][row]) for row in rows] == people[party]


@given(st.lists(KEYS, min_size=1, unique_by=plain), st.binary(min_size=16))
def test_every_key_finds_itself(keys: list[object], salt: bytes) -> None:
    assume(len(set(hash_keys("a", keys, salt=salt))) == len(keys))  # NFC may make two texts one
    found = align({"a": keys, "b": keys[::-1]}, salt=salt)
    assert found.matched == len(keys)
    assert (found.rows["a"] == len(keys) - 1 - found.rows["b"]).all()
    hashes = hash_keys("a", keys, salt=salt)
    assert [hashes[row] for row in found.rows["a"]] == sorted(hashes)


@pytest.mark.parametrize(
    "column",
    [
        ["9", " 7", "é"],
        np.array(["9", "7", "é"]),
        np.array(["9", "7", "e\u0301"], dtype=object),
        pl.Series(["9", "7", "é"]),
        pd.Series(["9\n", "7", "é"]),
        [np.int64(9), np.float32(7), np.str_("é")],
        (key for key in (9, 7.0, "é")),
    ],
)
def test_a_key_is_the_same_however_it_is_held(column) -> None:
    found = align({"a": [7, "é", 9, 0], "b": column}, salt=SALT)
    assert sorted(zip(found.rows["a"].tolist(), found.rows["b"].tolist(), strict=True)) == [(0, 1), (1, 2), (2, 0)]


@pytest.mark.parametrize("column", [[7, 8], np.array([7, 8], dtype=np.uint8), pl.Series([7, 8]), pd.Series([7.0, 8.0])])
def test_numbers_match_numbers(column) -> None:
    assert align({"a": ["8", "7"], "b": column}, salt=SALT).matched == 2


def test_leading_zeros_and_case_are_kept() -> None:
    found = align({"a": ["007", "Ab", "x"], "b": [7, "ab", "x"]}, salt=SALT)
    assert found.matched == 1


def test_matching_needs_only_hashes_and_the_salt_changes_them_all() -> None:
    keys = [*range(100)]
    one, two = hash_keys("a", keys, salt=SALT), hash_keys("a", keys, salt=secrets.token_bytes(32))
    assert not set(one) & set(two)
    assert all(len(digest) == 32 for digest in one)
    assert match({"a": one, "b": one[:40]}).only == {"a": 60, "b": 0}
    with pytest.raises(InputError, match=r"'a', 'b' have no key in common.*same salt"):
        match({"a": one, "b": two})


def test_the_common_order_says_nothing_about_a_partys_own() -> None:
    rows = align({"a": [*range(500)], "b": [*range(500)]}, salt=SALT).rows["a"]
    assert abs(np.corrcoef(rows, np.arange(500))[0, 1]) < 0.2


def test_it_describes_itself() -> None:
    found = align({"clinic": [*range(2000)], "bank": [*range(1500, 2000)]}, salt=SALT)
    assert found.describe() == [
        "500 row(s) are shared by all 2 parties.",
        "clinic keeps 25.0% of its rows and leaves out 1,500.",
        "bank keeps 100.0% of its rows and leaves out 0.",
        "Rows were aligned by salted hashes: whoever holds the salt and sees a hash can test guesses of its key.",
    ]


SECRET = "4711-private"


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ([SECRET, None], r"^'bank' has 1 row\(s\) without a key: rows 1 \(counted from 0\)\.$"),
        ([SECRET, " ", "", float("nan")], r"3 row\(s\) without a key: rows 1, 2, 3 \("),
        (np.array([np.nan] * 9), r"9 row\(s\) without a key: rows 0, 1, 2, 3, 4, \.\.\. \("),
        (pl.Series([7, None]), "rows 1"),
        (pd.Series([7, None], dtype="Int64"), "rows 1"),
        (pd.Series([SECRET, pd.NaT, pd.NA], dtype=object), "rows 1, 2"),
        ([SECRET, "b", SECRET, "b", SECRET], "^'bank' has 5 rows whose key occurs more than once: rows 0, 1, 2, 3, 4 "),
        ([1, 7, "2", " 7"], "2 rows whose key occurs more than once: rows 1, 3 "),
        ([SECRET, 4711.5], "row 1 of 'bank' is a number that is not whole"),
        ([SECRET, float("inf")], "not whole"),
        ([SECRET, 2.0**60], "too large to be exact"),
        ([SECRET, True], "row 1 of 'bank' is a bool"),
        ([np.True_], "is a bool"),
        ([SECRET.encode()], "is a bytes"),
        ([[SECRET]], "is a list"),
        (SECRET, "not one column"),
        (np.array([[SECRET]]), "not one column"),
        (pl.DataFrame({"key": [SECRET]}), "is a Series"),
        ([], "no key in common"),
        ([SECRET], "no key in common"),
    ],
)
def test_bad_keys_are_refused_without_naming_them(column, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        align({"clinic": [7, 8], "bank": column}, salt=SALT)
    assert "4711" not in str(caught.value)


@pytest.mark.parametrize("parties", [{}, {"a": [1]}])
def test_one_party_has_nobody_to_align_with(parties) -> None:
    with pytest.raises(InputError, match=f"at least 2 parties; there are keys of {len(parties)}"):
        align(parties, salt=SALT)


@pytest.mark.parametrize("salt", [b"", SALT[:15], "sixteen letters!"])
def test_a_short_salt_is_refused(salt) -> None:
    with pytest.raises(InputError, match="at least 16 bytes"):
        align({"a": [1], "b": [1]}, salt=salt)
