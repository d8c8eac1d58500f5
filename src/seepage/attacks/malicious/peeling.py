"""Peeling: a row that is read in one bin is taken out of all its other bins, which may leave one row there.

Each row is in one bin of every chain, so rows and bins are a sparse random graph. Reading starts at bins with one or
two rows; with three chains it runs through to the last row while there are fewer than 0.82 rows a bin (1.55 if bins
with two rows can be read), as in codes for erasure channels (LT codes) and in invertible Bloom lookup tables.

References:
    Luby, LT Codes, FOCS 2002; Goodrich and Mitzenmacher, Invertible Bloom Lookup Tables, 2011, for the thresholds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from seepage.attacks.malicious.few_rows import few_rows
from seepage.attacks.malicious.one_row import Found, one_row
from seepage.attacks.malicious.slopes import KnownSlopes
from seepage.attacks.malicious.trap import Trap
from seepage.observation import Space

PASSES = 400
SURE = 3e-7  # how well a slope is known that the server computes
LEAST = 5e-3  # of the middle slope
SAME = 1e-4  # numbers and slopes that differ by less belong to one row


@dataclass(eq=False)
class Ledger:
    """The sums of all bins of some rounds, and the rows that were taken out of them.

    Args:
        traps: of each round; rows add the same slopes in all of them.
        sums: of each round, (bins, 1 + features).
        errors: of each round, what rounding may have done to the sums.
        space: the input space.
        known: the slopes that rows must have, if the server can know them.
    """

    traps: Sequence[Trap]
    sums: list[np.ndarray]
    errors: list[np.ndarray]
    space: Space
    known: KnownSlopes | None = None

    def __post_init__(self) -> None:
        self.rows = np.zeros((0, self.space.layout.width))
        self.slopes = np.zeros(0)
        self.doubts = np.zeros((0, self.space.layout.numeric))  # how far off a row's numbers may have been read
        self.counts = np.zeros((0, self.known.classes if self.known else 1), dtype=np.int64)
        # What is left of a row after it was taken out looks like the row, with a tiny slope.
        seen = np.abs(np.concatenate([each[:, 0] for each in self.sums]))
        self.least = LEAST * float(np.median(seen[seen > 0])) if seen.any() else 0.0
        # Of the sums alone, without what rows that were taken out carry along.
        self.rounding = [each.copy() for each in self.errors]
        self._known: dict[bytes, list[np.ndarray]] = {}

    def take(self, number: int, found: Found) -> int:
        """Take rows that were read in one round out of the bins of all; how many were new and stood in their bins."""
        found, counts = self._settled(found)
        places = self.traps[number].places(found.rows)
        fresh = []
        for index in np.flatnonzero((places == found.bins[:, None]).any(1)):
            if self._is_new(found.rows[index], float(found.slopes[index])):
                fresh.append(index)
        if not fresh:
            return 0
        rows, slopes, errors = found.rows[fresh], found.slopes[fresh], found.errors[fresh]
        for other, (each, sums) in enumerate(zip(self.traps, self.sums, strict=True)):
            parts = each.features.of(rows) * slopes[:, None]
            for chain in each.places(rows).T:
                inside = chain >= 0
                np.subtract.at(sums, chain[inside], parts[inside])
                # A sum that cancels was made of larger ones, and rounded as these.
                lost = each.rounding * np.abs(parts[inside])
                np.add.at(self.rounding[other], chain[inside], lost)
                np.add.at(self.errors[other], chain[inside], errors[inside] + lost)
        self.rows, self.slopes = np.concatenate([self.rows, rows]), np.concatenate([self.slopes, slopes])
        own = errors[:, 1 : 1 + self.space.layout.numeric] / np.abs(slopes)[:, None]
        self.counts, self.doubts = np.concatenate([self.counts, counts[fresh]]), np.concatenate([self.doubts, own])
        return len(fresh)

    def _settled(self, found: Found) -> tuple[Found, np.ndarray]:
        """Rows with slopes that a row can have, and how many equal rows of each label they stand for."""
        if self.known is None:
            large: np.ndarray = np.asarray(np.abs(found.slopes) > self.least)
            return found.only(large), np.ones((int(large.sum()), 1), dtype=np.int64)
        if not len(found.rows):
            return found, np.zeros((0, self.known.classes), dtype=np.int64)
        slopes, counts = self.known.settled(found.rows, found.slopes, found.errors[:, 0])
        right: np.ndarray = np.asarray(counts.any(1))
        ratio = np.minimum(1.0, SURE / (found.errors[:, :1] + 1e-15))
        # Settled cells carry the slope's error alone, and that is gone now.
        exact = replace(found, slopes=slopes, errors=np.where(found.settled, ratio, 1.0) * found.errors)
        return exact.only(right), counts[right]

    def _is_new(self, row: np.ndarray, slope: float) -> bool:
        """Whether this row was not read before: one row may be read in several bins at once."""
        numeric = self.space.layout.numeric
        known = self._known.setdefault(np.round(row[numeric:], 3).tobytes(), [])
        own = np.append(row[:numeric], slope)
        if any(np.abs(own - other).max() < SAME for other in known):
            return False
        known.append(own)
        return True

    def filled(self, number: int) -> np.ndarray:
        """The bins of a round in which something is left."""
        return np.flatnonzero((np.abs(self.sums[number]) > 6 * self.errors[number]).any(1))


def peel(ledger: Ledger, *, several: bool = True) -> None:
    """Read rows until nothing new is found.

    Args:
        several: bins with a few rows are tried too, when there is no bin with one left.
    """
    tried: set[tuple[int, bytes]] = set()
    for _ in range(PASSES):
        found = 0
        for number, trap in enumerate(ledger.traps):
            read = one_row(
                ledger.sums[number],
                ledger.errors[number],
                ledger.filled(number),
                trap.features,
                ledger.space,
            )
            found += ledger.take(number, read)
        if not found and several:
            found = _several(ledger, tried)
        if not found:
            return


def _several(ledger: Ledger, tried: set[tuple[int, bytes]]) -> int:
    """One pass over the bins with a few rows; a bin that has not changed since is not tried again."""
    count = 0
    for number, trap in enumerate(ledger.traps):
        errors = ledger.errors[number]
        for place in ledger.filled(number):
            sums = ledger.sums[number][place]
            key = number, sums.tobytes()
            if key in tried:
                continue
            tried.add(key)
            read = few_rows(sums, errors[place], trap.features, ledger.space)
            if read is not None:
                count += ledger.take(number, replace(read, bins=np.full(len(read.rows), place)))
    return count
