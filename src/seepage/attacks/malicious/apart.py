"""Bins one by one: where local steps give a row another slope in every bin, nothing can be taken out of other bins."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from seepage.attacks.malicious.few_rows import few_rows
from seepage.attacks.malicious.one_row import Found, one_row
from seepage.attacks.malicious.peeling import Ledger


def read_apart(ledger: Ledger) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(rows, width) rows that were read, their slopes, and in how many chains each was read."""
    kept: dict[bytes, tuple[np.ndarray, float, set[tuple[int, int]]]] = {}
    for number, trap in enumerate(ledger.traps):
        for found in _of_bins(ledger, number):
            places = trap.places(found.rows)
            for row, slope, bin_, own in zip(found.rows, found.slopes, found.bins, places, strict=True):
                chains = np.flatnonzero(own == bin_)
                if len(chains) and abs(slope) > ledger.least:
                    key = np.round(row, 3).astype(np.float32).tobytes()
                    kept.setdefault(key, (row, float(slope), set()))[2].add((number, int(chains[0])))
    rows = np.array([row for row, _, _ in kept.values()]).reshape(len(kept), ledger.space.layout.width)
    slopes = np.array([slope for _, slope, _ in kept.values()])
    return rows, slopes, np.array([len(seen) for _, _, seen in kept.values()], dtype=np.int64)


def _of_bins(ledger: Ledger, number: int) -> list[Found]:
    """What each bin of a round gives by itself."""
    trap, sums, errors = ledger.traps[number], ledger.sums[number], ledger.errors[number]
    filled = ledger.filled(number)
    alone = one_row(sums, errors, filled, trap.features, ledger.space)
    found = [alone]
    for place in np.setdiff1d(filled, alone.bins):
        read = few_rows(sums[place], errors[place], trap.features, ledger.space)
        if read is not None:
            found.append(replace(read, bins=np.full(len(read.rows), place)))
    return found
