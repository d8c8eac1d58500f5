"""The messages of a private set intersection: bytes with a header, whose every claim is checked before use.

A message is a header (mark, version, kind, session, two counts) and one or two lists: points of 32 bytes, or places of
8. Sizes are bounded before anything is allocated; a fault is one sentence that names the party.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

import numpy as np

from seepage._core import InputError
from seepage.federation.vertical import curve
from seepage.federation.vertical.curve_workers import computed
from seepage.federation.vertical.messages import PartyError

MOST_KEYS = 10_000_000  # of one party: 320 MB of points in a message
SESSION_BYTES = 32
ASKED, ANSWERED, TOLD = 1, 2, 3
_HEADER = struct.Struct("<4sBB32sQQ")  # mark, version, kind, session, and how many entries the two lists have
_MARK, _VERSION = b"SPSI", 1
_STEPS = {ASKED: "question", ANSWERED: "answer", TOLD: "shared places"}
_TOP = np.uint64(2**63 - 1)
_FULL = np.uint64(2**64 - 1)


class Lists(NamedTuple):
    """What a message holds."""

    first: bytes
    second: bytes


class Wire:
    """Messages from and to one other party, checked before anything is made of them.

    Args:
        other: the party's name, for errors.
        session: 32 bytes that every message of an alignment begins with, so that none of another one passes.
        most: entries that it may send of its own.
    """

    def __init__(self, other: str, session: bytes, most: int) -> None:
        if not isinstance(session, bytes) or len(session) != SESSION_BYTES:
            raise InputError(f"A session is named by {SESSION_BYTES} bytes; new_session() makes a name.")
        self.other, self._session, self._most = other, session, min(most, MOST_KEYS)

    def packed(self, kind: int, first: bytes, second: bytes = b"") -> bytes:
        """A message of one list or two."""
        size = _entry_bytes(kind)
        counts = len(first) // size, len(second) // size
        return _HEADER.pack(_MARK, _VERSION, kind, self._session, *counts) + first + second

    def unpacked(self, kind: int, message: bytes, *, expected: int | None = None) -> Lists:
        """The lists of a message of this kind. ``expected``: entries that the first must have."""
        step, sent = _STEPS[kind], f"Party {self.other!r} sent"
        if not isinstance(message, bytes) or len(message) < _HEADER.size:
            raise PartyError(f"{sent} a {step} that is too short to be one.")
        mark, version, found, session, first, second = _HEADER.unpack_from(message)
        if (mark, found) != (_MARK, kind):
            raise PartyError(f"{sent} something else where a message of the kind {step!r} was expected.")
        if version != _VERSION:
            raise PartyError(f"{sent} version {version} of the intersection protocol; this is version {_VERSION}.")
        if session != self._session:
            raise PartyError(f"{sent} a message of another session.")
        if expected is not None and first != expected:
            raise PartyError(f"{sent} {first:,} points back where {expected:,} were asked.")
        if (first if expected is None else second) > self._most:
            raise PartyError(f"{sent} more than {self._most:,} entries, the most that are allowed.")
        if len(message) != _HEADER.size + (first + second) * _entry_bytes(kind) or (second and kind != ANSWERED):
            raise PartyError(f"{sent} a message whose length is not what it says.")
        middle = _HEADER.size + first * _entry_bytes(kind)
        return Lists(message[_HEADER.size : middle], message[middle:])

    def check_points(self, points: bytes) -> None:
        """Each in its one way of writing, below the prime, none twice. All that X25519 makes are so."""
        words = np.frombuffer(points, dtype="<u8").reshape(-1, 4)
        full = (words[:, 3] == _TOP) & (words[:, 2] == _FULL) & (words[:, 1] == _FULL)
        if ((words[:, 3] > _TOP) | (full & (words[:, 0] >= _FULL - np.uint64(18)))).any():
            raise PartyError(f"Party {self.other!r} sent a number that is not a coordinate of Curve25519.")
        if len(np.unique(as_texts(points))) < len(words):
            raise PartyError(f"Party {self.other!r} sent a point more than once.")
        if (words == 0).all(1).any():
            raise PartyError(_small(self.other))

    def multiplied(self, secret: bytes, points: bytes, workers: int | None) -> bytes:
        """Another party's points times our secret; one of small order is refused."""
        product = computed("multiply", secret, points, workers)
        if not as_rows(product).any(1).all():
            raise PartyError(_small(self.other))
        return product


def _small(other: str) -> str:
    return f"Party {other!r} sent a point of small order, which would make different people equal."


def _entry_bytes(kind: int) -> int:
    return 8 if kind == TOLD else curve.BYTES


def as_rows(points: bytes) -> np.ndarray:
    """Points as rows of bytes."""
    return np.frombuffer(points, dtype=np.uint8).reshape(-1, curve.BYTES)


def as_texts(points: bytes) -> np.ndarray:
    """Points as entries that numpy compares and sorts; all are 32 bytes, so zeros at their ends do not matter."""
    return np.frombuffer(points, dtype=f"S{curve.BYTES}")
