"""Points multiplied in several processes of one party.

cryptography keeps Python's lock while it multiplies (two threads take as long as one after the other), so it is
processes. They run :mod:`~seepage.federation.vertical.curve` as a program: no torch is loaded, nothing has to be
importable, and the secret goes through a pipe, not through arguments that others can list.
"""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Literal

from seepage._core import InputError, SeepageError
from seepage.federation.vertical import curve

LEAST = 4_000  # items for which a process of its own pays: it starts in 0.1 s, an item takes 0.04 to 0.08 ms
_PROGRAM = curve.__file__


def cores() -> int:
    """How many processes may work at once."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def computed(work: Literal["multiply", "blind"], secret: bytes, items: bytes, workers: int | None = None) -> bytes:
    """:func:`~seepage.federation.vertical.curve.multiply` or ``blind`` of many items, in their order.

    Args:
        work: what is done.
        secret: 32 bytes.
        items: points or digests, 32 bytes each.
        workers: processes at most; one for each core if not given, and none for few items.
    """
    check_installed()
    count = len(items) // curve.BYTES
    shares = max(1, min(cores() if workers is None else workers, count // LEAST))
    letter = work[:1].encode()
    if shares == 1:
        return curve.WORK[letter](secret, items)
    bounds = [count * share // shares * curve.BYTES for share in range(shares + 1)]
    orders = [letter + secret + items[start:stop] for start, stop in pairwise(bounds)]
    with ThreadPoolExecutor(shares) as threads:  # each waits for its process
        return b"".join(threads.map(_apart, orders))


def check_installed() -> None:
    """The package is told before the work if it is missing."""
    try:
        import cryptography  # noqa: F401
    except ImportError:
        raise InputError(
            "Private set intersection needs the package cryptography: pip install 'seepage[vertical]'; or align by "
            "salted hashes."
        ) from None


def _apart(order: bytes) -> bytes:
    # -P: the folder of the program has modules of Seepage that are named like others.
    done = subprocess.run([sys.executable, "-P", _PROGRAM], input=order, capture_output=True, check=False)
    if done.returncode or len(done.stdout) != len(order) - 1 - curve.BYTES:
        raise SeepageError(f"A process that multiplies points ended with code {done.returncode}; start again.")
    return done.stdout
