"""Which of my rows are the same people as your rows? Private set intersection by Diffie-Hellman, without a salt.

Host and guest each draw a secret. A key is hashed to a point of Curve25519 and multiplied by both secrets, one at each
party; multiplication commutes, so equal keys become equal points, and with one secret alone nobody can calculate
any of them (Meadows 1986; Huberman, Franklin and Hogg 1999). Three messages cross::

    host  -> guest   host's points a·H(x), shuffled                          HostSide.ask
    guest -> host    the same times b, in the same order; b·H(y), shuffled   GuestSide.answer
    host  -> guest   which places of the guest's list are shared, in order   HostSide.tell

What each learns:

- **The host** learns how many keys each guest has, and which of its own rows each guest has too: with several guests,
  more than the rows that all share. It has its secrets for each guest anew, so two guests that compare what they were
  sent learn nothing.
- **A guest** learns how many keys the host has and which of its own rows *all* parties share; not which it shares with
  the host alone, and nothing of other guests but what that says. Without the third message it learns only the number.
- **Who listens** learns the numbers of keys and of shared rows.

Why: the hash is a random oracle, so a·H(x) for people whose keys are not asked for is as good as a random point to who
lacks a, if the decisional Diffie-Hellman problem on Curve25519 is hard. The session is hashed with every key and
secrets are drawn for each session, so neither guesses nor messages carry over from one to another. All 32 bytes are
compared. :mod:`~seepage.federation.vertical.curve` says why u-coordinates will do.

What it does **not** stop:

- **A party that lies about its keys.** It may put in the keys of people it is curious about, and so asks who of them is
  a client: a host learns it of each, a guest of those that all others have. Agree on who may be asked about, bound the
  number (``most``), and keep a log. Both are taken to be curious but to follow the protocol.
- **What the intersection itself says.** That a row is shared tells that the person is at all parties.
- A host that names wrong places: the rows are then trained with those of other people.

The sides are objects with bytes in and out, for any network. The network must say who is at the other end (TLS).
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable, Mapping

import numpy as np

from seepage._core import InputError, unknown_name
from seepage.data.row_keys import AS_WRITTEN, KeyFormat, Keys
from seepage.federation.vertical import curve
from seepage.federation.vertical.align import Alignment, as_keys, check_several
from seepage.federation.vertical.curve_workers import computed
from seepage.federation.vertical.messages import PartyError
from seepage.federation.vertical.psi_wire import (
    ANSWERED,
    ASKED,
    MOST_KEYS,
    SESSION_BYTES,
    TOLD,
    Wire,
    as_rows,
    as_texts,
)


def new_session() -> bytes:
    """A name for one alignment of one pair, agreed before; it need not be secret."""
    return secrets.token_bytes(SESSION_BYTES)


class HostSide:
    """The host's half of an intersection with one guest. It never holds anything of the guest but its messages.

    Args:
        guest: its name, for errors.
        keys: of the host.
        session: the same 32 bytes at both sides, new each time.
        most: keys that the guest may have.
        workers: processes that calculate; one for each core if not given.

    Example:
        >>> session = new_session()
        >>> host, guest = HostSide("shop", [b"ann", b"bob"], session), GuestSide("bank", [b"eve", b"bob"], session)
        >>> rows = host.match(guest.answer(host.ask()))
        >>> rows.tolist(), guest.rows(host.tell(rows)).tolist()
        ([1], [1])
    """

    def __init__(
        self,
        guest: str,
        keys: Iterable[bytes],
        session: bytes,
        *,
        most: int = MOST_KEYS,
        workers: int | None = None,
    ) -> None:
        self._wire, self._workers = Wire(guest, session, most), workers
        self._own = _Blinded(keys, session, workers)
        self._place: np.ndarray | None = None  # of each of our keys in the guest's list; -1: it lacks it

    def ask(self) -> bytes:
        """The first message: our blinded points, shuffled."""
        return self._wire.packed(ASKED, self._own.sent)

    def match(self, answer: bytes) -> np.ndarray:
        """Which of our keys the guest has too, by their places in ``keys``, ascending."""
        wire, own = self._wire, self._own
        back, theirs = wire.unpacked(ANSWERED, answer, expected=own.count)
        wire.check_points(back)
        wire.check_points(theirs)
        if np.isin(as_texts(theirs), as_texts(own.sent)).any():
            raise PartyError(f"Party {wire.other!r} sent our own points back as its own.")
        mine = np.empty((own.count, curve.BYTES), dtype=np.uint8)
        mine[own.order] = as_rows(back)  # from the shuffled order to that of our keys
        product = wire.multiplied(own.secret, theirs, self._workers)
        _, rows, places = np.intersect1d(as_texts(mine.tobytes()), as_texts(product), True, return_indices=True)
        self._place = np.full(own.count, -1, dtype=np.int64)
        self._place[rows] = places
        return np.sort(rows)

    def tell(self, rows: np.ndarray) -> bytes:
        """The last message: where in its own list the guest finds the people of these rows of ours, in this order."""
        if self._place is None:
            raise InputError("There is nothing to tell before the guest has answered.")
        places = self._place[rows]
        if (places < 0).any():
            raise InputError(f"Party {self._wire.other!r} does not have all of these rows.")
        return self._wire.packed(TOLD, places.astype("<u8").tobytes())


class GuestSide:
    """A guest's half of an intersection with the host. Arguments as for :class:`HostSide`.

    It answers once: every answer to a changed question would tell a host about more people.
    """

    def __init__(
        self,
        host: str,
        keys: Iterable[bytes],
        session: bytes,
        *,
        most: int = MOST_KEYS,
        workers: int | None = None,
    ) -> None:
        self._wire, self._workers = Wire(host, session, most), workers
        self._own = _Blinded(keys, session, workers)
        self._answered = False

    def answer(self, asked: bytes) -> bytes:
        """The second message: the host's points times our secret in their order, and our own, shuffled."""
        if self._answered:
            raise PartyError(f"Party {self._wire.other!r} asked twice in one session.")
        points, _ = self._wire.unpacked(ASKED, asked)
        self._wire.check_points(points)
        self._answered = True
        product = self._wire.multiplied(self._own.secret, points, self._workers)
        return self._wire.packed(ANSWERED, product, self._own.sent)

    def rows(self, told: bytes) -> np.ndarray:
        """Our shared keys by their places in ``keys``, in the common order."""
        if not self._answered:
            raise PartyError(f"Party {self._wire.other!r} sent shared places before it asked.")
        found, _ = self._wire.unpacked(TOLD, told)
        places = np.frombuffer(found, dtype="<u8")
        if (len(places) and places.max() >= self._own.count) or len(np.unique(places)) < len(places):
            raise PartyError(f"Party {self._wire.other!r} named places that do not exist, or one twice.")
        rows: np.ndarray = self._own.order[places.astype(np.int64)]
        return rows


def shared_by_all(matches: Mapping[str, np.ndarray]) -> np.ndarray:
    """The host's rows that every guest has, in an order drawn anew: it says nothing about how the host keeps them.

    Args:
        matches: of each guest, what :meth:`HostSide.match` gave.
    """
    first, *others = matches.values()
    rows: np.ndarray = first
    for other in others:
        rows = np.intersect1d(rows, other, assume_unique=True)
    if not len(rows):
        raise InputError(
            f"The host has no key in common with all of {', '.join(map(repr, matches))}; check that the columns hold "
            "the same kind of key, written the same way."
        )
    mixed: np.ndarray = rows[_shuffled(len(rows))]
    return mixed


def align_privately(
    keys: Mapping[str, Iterable[object] | Keys],
    *,
    host: str,
    form: KeyFormat = AS_WRITTEN,
    workers: int | None = None,
) -> Alignment:
    """Find the rows that all parties share: the host runs the protocol with each guest and intersects.

    This is the simulation of all parties in one place, message by message; parties on different machines use
    :class:`HostSide` and :class:`GuestSide`.

    Args:
        keys: of each party, its key column, or what :func:`~seepage.data.row_keys.read_keys` made of
            several.
        host: the party that asks.
        form: how keys are written before they are hashed.
        workers: processes that calculate; one for each core if not given.

    Example:
        >>> found = align_privately({"clinic": [7, 8, 9], "bank": ["9", " 7", "1"]}, host="clinic")
        >>> found.matched, sorted(zip(found.rows["clinic"].tolist(), found.rows["bank"].tolist()))
        (2, [(0, 1), (2, 0)])
    """
    check_several(keys)
    if host not in keys:
        raise unknown_name("host", host, keys)
    read = as_keys(keys, form)
    hosts, guests, matches = {}, {}, {}
    for name in [name for name in read if name != host]:
        session = new_session()
        hosts[name] = HostSide(name, read[host].texts, session, workers=workers)
        guests[name] = GuestSide(host, read[name].texts, session, workers=workers)
        matches[name] = hosts[name].match(guests[name].answer(hosts[name].ask()))
    shared = shared_by_all(matches)
    found = {name: shared if name == host else guests[name].rows(hosts[name].tell(shared)) for name in read}
    return Alignment(
        rows=found, matched=len(shared), only=dict.fromkeys(read, 0), reveals=_revealed(host, len(guests))
    ).numbered(read)


def _revealed(host: str, guests: int) -> tuple[str, ...]:
    more = ", and which of its own rows each guest has" if guests > 1 else ""
    return (
        "Rows were aligned by private set intersection, all parties in this process: what they send each other holds "
        "no key and no hash of a key.",
        f"By that {host} learns how many keys each guest has{more}; a guest learns how many keys {host} has; each "
        "learns which of its own rows all share.",
        "A party that puts in keys of other people learns who of them is shared: it asks who is a client.",
    )


class _Blinded:
    """One party's keys as points times its secret, shuffled."""

    def __init__(self, keys: Iterable[bytes], session: bytes, workers: int | None) -> None:
        digests = [hashlib.sha256(b"seepage psi key\0" + session + key).digest() for key in keys]
        if len(digests) > MOST_KEYS:
            raise InputError(f"There are {len(digests):,} keys; at most {MOST_KEYS:,} can be intersected.")
        if len(set(digests)) < len(digests):
            raise InputError("A key occurs more than once among our own; give each once.")
        self.secret, self.count = secrets.token_bytes(curve.BYTES), len(digests)
        self.order = _shuffled(self.count)  # of our keys in the list that is sent
        self.sent = computed("blind", self.secret, b"".join(digests[place] for place in self.order), workers)


def _shuffled(count: int) -> np.ndarray:
    """An order that nobody can guess: that of as many numbers from the system's generator."""
    return np.argsort(np.frombuffer(secrets.token_bytes(8 * count), dtype=np.uint64), kind="stable")
