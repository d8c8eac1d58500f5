"""Which of my rows are the same people as your rows? Salted-hash intersection, before vertical training.

Every party hashes its key column with HMAC-SHA256 under a salt that the parties share; rows with equal hashes are
the same person. The matching (:func:`match`) sees hashes, never keys.

What this reveals:

- A party learns which of its own rows are shared by all, and how many there are.
- Whoever does the matching sees every hash with its row number: how many rows each party has and which rows belong
  together. Without the salt it cannot test a guess of a key.
- **Whoever holds the salt and sees a hash can test guesses of its key.** Keys that can be listed (phone numbers,
  national ids, names with birthdays) are not hidden from such a party. Let a coordinator without the salt do the
  matching, and where a party could see the hashes of another, use private set intersection instead
  (:mod:`~seepage.federation.vertical.psi`), which has no salt to hold.
- The same salt used twice links two alignments. Take a new one each time: ``secrets.token_bytes(32)``.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from seepage._core import InputError
from seepage.data.row_keys import AS_WRITTEN, KeyFormat, Keys, read_keys

SALT_BYTES = 16
HASHES_REVEAL = (
    "Rows were aligned by salted hashes: whoever holds the salt and sees a hash can test guesses of its key.",
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Alignment:
    """The shared rows: row ``rows[a][i]`` of party a and row ``rows[b][i]`` of party b are one person.

    The order is that of the sorted hashes, so it says nothing about the order in which a party keeps its rows. Hand
    each party its own entry of ``rows`` only.

    Args:
        rows: of each party, (matched,) row numbers from 0.
        matched: how many people all parties share.
        only: of each party, how many rows have no partner at some other party; these are left out.
        reveals: what the parties learned of each other by it, as sentences.
    """

    rows: dict[str, np.ndarray]
    matched: int
    only: dict[str, int]
    reveals: tuple[str, ...] = ()

    def describe(self) -> list[str]:
        """What was matched and what was left out, as sentences."""
        sentences = [f"{self.matched:,} row(s) are shared by all {len(self.rows)} parties."]
        for party, left in self.only.items():
            share = self.matched / (self.matched + left)
            sentences.append(f"{party} keeps {share:.1%} of its rows and leaves out {left:,}.")
        return [*sentences, *self.reveals]

    def numbered(self, keys: Mapping[str, Keys]) -> Alignment:
        """The same people by the rows of the parties' tables, where ``rows`` count their keys."""
        return replace(
            self,
            rows={party: keys[party].rows[places] for party, places in self.rows.items()},
            only={party: keys[party].total - self.matched for party in self.only},
        )


def align(keys: Mapping[str, Iterable[object] | Keys], *, salt: bytes, form: KeyFormat = AS_WRITTEN) -> Alignment:
    """Find the rows that all parties share: hash every key column, then match the hashes.

    This is the simulation of both steps in one place; parties on different machines call :func:`hash_keys`, each on
    its own, and whoever coordinates calls :func:`match`.

    Args:
        keys: of each party, its key column (list, array, polars or pandas series of texts or whole numbers), or what
            :func:`~seepage.data.row_keys.read_keys` made of several. No key may be empty.
        salt: secret, the same for all parties, at least 16 bytes.
        form: how keys are written before they are hashed.

    Example:
        >>> found = align({"clinic": [7, 8, 9], "bank": ["9", " 7", "1"]}, salt=b"sixteen bytes!!!")
        >>> found.matched, sorted(zip(found.rows["clinic"].tolist(), found.rows["bank"].tolist()))
        (2, [(0, 1), (2, 0)])
    """
    read = as_keys(keys, form)
    return match({party: hash_keys(party, column, salt=salt) for party, column in read.items()}).numbered(read)


def as_keys(keys: Mapping[str, Iterable[object] | Keys], form: KeyFormat) -> dict[str, Keys]:
    """The keys of every party, read where they are not yet."""
    return {
        party: column if isinstance(column, Keys) else read_keys(party, column, form=form)
        for party, column in keys.items()
    }


def hash_keys(party: str, column: Iterable[object] | Keys, *, salt: bytes, form: KeyFormat = AS_WRITTEN) -> list[bytes]:
    """The hash of each key of one party, in the order of its rows.

    A key is written as text in one way before it is hashed; see
    :func:`~seepage.data.row_keys.read_keys`.
    """
    if not isinstance(salt, bytes) or len(salt) < SALT_BYTES:
        raise InputError(f"The salt must be at least {SALT_BYTES} bytes; secrets.token_bytes(32) makes one.")
    keys = as_keys({party: column}, form)[party]
    return [hmac.digest(salt, text, "sha256") for text in keys.texts]


def match(hashes: Mapping[str, Sequence[bytes]]) -> Alignment:
    """Find the hashes that all parties have. This side needs neither keys nor salt.

    Args:
        hashes: of each party, what :func:`hash_keys` gave.
    """
    check_several(hashes)
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
        reveals=HASHES_REVEAL,
    )


def check_several(parties: Mapping[str, object]) -> None:
    """One party has nobody to align with."""
    if len(parties) < 2:
        raise InputError(f"An alignment needs the keys of at least 2 parties; there are keys of {len(parties)}.")


def _places(party: str, hashes: Sequence[bytes]) -> dict[bytes, int]:
    """The row of each hash, where no hash occurs twice."""
    place = {one: row for row, one in enumerate(hashes)}
    if len(place) < len(hashes):
        raise InputError(f"{party!r} sent {len(hashes) - len(place)} hash(es) more than once.")
    return place
