"""Parties of vertical learning between each other: what their protocols cost.

    python benchmarks/parties.py [--quick] [--keys 1000000] --json

`psi`: private set intersection of two parties with 100,000 keys each, half of them shared; both sides on this machine,
one after the other, each with a process for each core. The limit we keep: 60 seconds on two cores. `ratio`: a plain
loop over one key at a time, timed on a sample in the same run, beside ours. `memory_mb`: by how much the process that
holds both sides grew. `bytes`: of each message.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import resource
import time
from collections.abc import Callable
from typing import TypeVar

import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

from seepage.federation.vertical import GuestSide, HostSide, new_session
from seepage.federation.vertical.curve import PRIME
from seepage.federation.vertical.curve_workers import cores

Made = TypeVar("Made")
SAMPLE = 1_000  # keys of the plain loop


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="10,000 keys instead of 100,000")
    parser.add_argument("--json", action="store_true", help="print JSON (always done)")
    parser.add_argument("--keys", type=int, help="keys of each party")
    options = parser.parse_args()
    keys = options.keys or (10_000 if options.quick else 100_000)
    print(json.dumps({"benchmark": "parties", "cores": cores(), "psi": psi(keys)}, indent=2))


def psi(count: int) -> dict[str, object]:
    """Seconds, bytes and memory of one intersection."""
    ours = [b"person %d" % number for number in range(count)]
    theirs = [b"person %d" % number for number in range(count // 2, count // 2 + count)]
    steps: dict[str, float] = {}

    def timed(step: str, work: Callable[[], Made]) -> Made:
        begin = time.perf_counter()
        made = work()
        steps[step] = round(time.perf_counter() - begin, 2)
        return made

    plain = one_at_a_time(ours[:SAMPLE], theirs[:SAMPLE]) * count / SAMPLE
    before, session = largest(), new_session()
    host = timed("host blinds", lambda: HostSide("guest", ours, session))
    guest = timed("guest blinds", lambda: GuestSide("host", theirs, session))
    asked = host.ask()
    answered = timed("guest answers", lambda: guest.answer(asked))
    rows = timed("host matches", lambda: host.match(answered))
    told = timed("host tells", lambda: host.tell(rows))
    found = timed("guest reads", lambda: guest.rows(told))
    assert np.array_equal(rows, found + count // 2)
    assert len(rows) == count - count // 2
    seconds = sum(steps.values())
    return {
        "keys": count,
        "seconds": round(seconds, 2),
        "steps": steps,
        "bytes": {"asked": len(asked), "answered": len(answered), "told": len(told)},
        "memory_mb": round((largest() - before) / 1024),
        "plain_seconds": round(plain, 1),
        "ratio": round(plain / seconds, 2),
    }


def largest() -> int:
    """The largest resident size so far, in KB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def one_at_a_time(ours: list[bytes], theirs: list[bytes]) -> float:
    """Seconds of the same protocol as anyone would write it first: one key, one point, Euler's criterion."""
    begin = time.perf_counter()
    secrets = X25519PrivateKey.generate(), X25519PrivateKey.generate()
    points = [set(), set()]  # type: list[set[bytes]]
    for keys, (first, second), side in ((ours, secrets, 0), (theirs, secrets[::-1], 1)):
        for key in keys:
            point = first.exchange(X25519PublicKey.from_public_bytes(plain_point(key)))
            points[side].add(second.exchange(X25519PublicKey.from_public_bytes(point)))
    assert len(points[0] & points[1]) == len(set(ours) & set(theirs))
    return time.perf_counter() - begin


def plain_point(key: bytes) -> bytes:
    """A point of the curve for a key, drawn until there is one."""
    draw = 0
    while True:
        u = int.from_bytes(hashlib.sha256(b"%d" % draw + key).digest(), "little") % 2**255 % PRIME
        if pow(u * (u * (u + 486662) + 1) % PRIME, (PRIME - 1) // 2, PRIME) == 1:
            return u.to_bytes(32, "little")
        draw += 1


if __name__ == "__main__":
    main()
