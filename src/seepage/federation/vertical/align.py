"""Which of my rows are the same people as your rows? Salted-hash intersection, before vertical training.

Every party hashes its key column with HMAC-SHA256 under a salt that the parties share; rows with equal hashes are
the same person. The matching (:func:`match`) sees hashes, never keys.

What this reveals:

- A party learns which of its own rows are shared by all, and how many there are.
- Whoever does the matching sees every hash with its row number: how many rows each party has and which rows belong
  together. Without the salt it cannot test a guess of a key.
- **Whoever holds the salt and sees a hash can test guesses of its key.** Keys that can be listed (phone numbers,
  national ids, names with birthdays) are not hidden from such a party. Let a coordinator without the salt do the
  matching, and where a party could see the hashes of another, use a private set intersection (PSI) protocol instead.
- The same salt used twice links two alignments. Take a new one each time: ``secrets.token_bytes(32)``.
"""

from __future__ import annotations

import hmac
import math
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from seepage._core import InputError

SALT_BYTES = 16
_SHOWN = 5  # row numbers in an error message
_EXACT = 2**53  # from here on neighbouring whole numbers are the same float
_EMPTY_TYPES = ("NAType", "NaTType")  # of pandas, which need not be installed


@dataclass(frozen=True, kw_only=True, eq=False)
class Alignment:
    """The shared rows: row ``rows[a][i]`` of party a and row ``rows[b][i]`` of party b are one person.

    The order is that of the sorted hashes, so it says nothing about the order in which a party keeps its rows. Hand
    each party its own entry of ``rows`` only.

    Args:
        rows: of each party, (matched,) row numbers from 0.
        matched: how many people all parties share.
        only: of each party, how many rows have no partner at some other party; these are left out.
    """

    rows: dict[str, np.ndarray]
    matched: int
    only: dict[str, int]

    def describe(self) -> list[str]:
        """What was matched and what was left out, as sentences."""
        sentences = [f"{self.matched:,} row(s) are shared by all {len(self.rows)} parties."]
        for party, left in self.only.items():
            share = self.matched / (self.matched + left)
            sentences.append(f"{party} keeps {share:.1%} of its rows and leaves out {left:,}.")
        return sentences


def align(keys: Mapping[str, Iterable[object]], *, salt: bytes) -> Alignment:
    """Find the rows that all parties share: hash every key column, then match the hashes.

    This is the simulation of both steps in one place; parties on different machines call :func:`hash_keys`, each on
    its own, and whoever coordinates calls :func:`match`.

    Args:
        keys: of each party, its key column (list, array, polars or pandas series of texts or whole numbers). No key
            may be empty or occur twice.
        salt: secret, the same for all parties, at least 16 bytes.

    Example:
        >>> found = align({"clinic": [7, 8, 9], "bank": ["9", " 7", "1"]}, salt=b"sixteen bytes!!!")
        >>> found.matched, sorted(zip(found.rows["clinic"].tolist(), found.rows["bank"].tolist()))
        (2, [(0, 1), (2, 0)])
    """
    return match({party: hash_keys(party, column, salt=salt) for party, column in keys.items()})


def hash_keys(party: str, column: Iterable[object], *, salt: bytes) -> list[bytes]:
    """The hash of each key of one party, in the order of its rows.

    A key is written as text in one way before it is hashed: whole numbers in decimal digits (7, 7.0 and "7" are
    equal), texts in Unicode form NFC without surrounding white space. Case and leading zeros are kept ("007" is not
    7). None, NaN and blank text are missing keys, which is an error.
    """
    if not isinstance(salt, bytes) or len(salt) < SALT_BYTES:
        raise InputError(f"The salt must be at least {SALT_BYTES} bytes; secrets.token_bytes(32) makes one.")
    if isinstance(column, str | bytes) or getattr(column, "ndim", 1) != 1:
        raise InputError(f"The keys of {party!r} are not one column; give one key per row.")
    texts = [_text(party, row, key) for row, key in enumerate(column)]
    missing = [row for row, text in enumerate(texts) if not text]
    if missing:
        raise InputError(f"{party!r} has {len(missing)} row(s) without a key: {_rows(missing)}.")
    return [hmac.digest(salt, text.encode("utf-8", "surrogatepass"), "sha256") for text in texts]


def match(hashes: Mapping[str, Sequence[bytes]]) -> Alignment:
    """Find the hashes that all parties have. This side needs neither keys nor salt.

    Args:
        hashes: of each party, what :func:`hash_keys` gave.
    """
    if len(hashes) < 2:
        raise InputError(f"An alignment needs the keys of at least 2 parties; there are keys of {len(hashes)}.")
    places = {party: _places(party, column) for party, column in hashes.items()}
    shared = sorted(set.intersection(*(set(place) for place in places.values())))
    if not shared:
        raise InputError(
            f"{', '.join(map(repr, places))} have no key in common; check that the columns hold the same kind of key, "
            "written the same way, and that all used the same salt."
        )
    return Alignment(
        rows={party: np.array([place[one] for one in shared], dtype=np.int64) for party, place in places.items()},
        matched=len(shared),
        only={party: len(place) - len(shared) for party, place in places.items()},
    )


def _text(party: str, row: int, key: object) -> str:
    """A key as the text that is hashed; empty for a missing one. Errors name its type, never its value."""
    if isinstance(key, str):
        return unicodedata.normalize("NFC", key).strip()
    if isinstance(key, int | np.integer) and not isinstance(key, bool):
        return str(int(key))
    if key is None or type(key).__name__ in _EMPTY_TYPES:
        return ""
    if isinstance(key, float | np.floating):
        number = float(key)
        if math.isnan(number):
            return ""
        if number.is_integer() and abs(number) < _EXACT:
            return str(int(number))
        raise InputError(f"The key in row {row} of {party!r} is a number that is not whole, or too large to be exact.")
    raise InputError(f"The key in row {row} of {party!r} is a {type(key).__name__}; give texts or whole numbers.")


def _places(party: str, hashes: Sequence[bytes]) -> dict[bytes, int]:
    """The row of each hash, where no hash occurs twice."""
    place = {one: row for row, one in enumerate(hashes)}
    if len(place) < len(hashes):
        last = {row for row, one in enumerate(hashes) if place[one] != row}
        twice = {hashes[row] for row in last}
        found = [row for row, one in enumerate(hashes) if one in twice]
        raise InputError(f"{party!r} has {len(found)} rows whose key occurs more than once: {_rows(found)}.")
    return place


def _rows(numbers: Sequence[int]) -> str:
    more = ", ..." if len(numbers) > _SHOWN else ""
    return f"rows {', '.join(map(str, numbers[:_SHOWN]))}{more} (counted from 0)"
