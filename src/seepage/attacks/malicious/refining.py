"""The last digit: rows that are taken out of bins one after the other carry their errors on; all bins together do not.

Every bin in which no unread row is left is one equation for the numbers of its rows. They are solved together, each
counting by how little rounding it has, and whole numbers are rounded then.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.linalg import lsqr

from seepage.attacks.malicious.peeling import Ledger

SWEEPS = 2
OUTLYING = 30.0  # times its rounding
FINE = 2000.0  # whole numbers in a deviation
WHOLE = 0.1  # nearer to a whole number is whole
FARTHEST = 3.0  # steps of a whole number that one may be moved by: more is no rounding


def refine(ledger: Ledger) -> None:
    """Fit all numbers again to all bins that are read out."""
    if not len(ledger.rows):
        return
    for _ in range(SWEEPS):
        bins, rows, left, sizes = _equations(ledger)
        if not len(bins):
            return
        moved = ledger.rows.copy()
        for column in range(ledger.space.layout.numeric):
            moved[:, column] += _solved(ledger, bins, rows, left[:, column], sizes[:, column], column)
        _put_back(ledger, moved)


def _equations(ledger: Ledger) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """(entries,) bin and row of each entry; (bins, numbers) what is left in the bins, and its rounding."""
    numeric = slice(1, 1 + ledger.space.layout.numeric)
    bins, rows, left, sizes, count = [], [], [], [], 0
    for number, trap in enumerate(ledger.traps):
        explained = read_out(ledger, number)
        index = np.full(len(explained) + 1, -1)
        index[np.flatnonzero(explained)] = count + np.arange(int(explained.sum()))
        for chain in trap.places(ledger.rows).T:
            inside = np.flatnonzero(index[chain] >= 0)
            bins.append(index[chain[inside]])
            rows.append(inside)
        left.append(ledger.sums[number][explained][:, numeric])
        sizes.append(ledger.rounding[number][explained][:, numeric])
        count += int(explained.sum())
    return np.concatenate(bins), np.concatenate(rows), np.concatenate(left), np.concatenate(sizes)


def read_out(ledger: Ledger, number: int) -> np.ndarray:
    """(bins,) in which no unread row is left, by their slopes and categories."""
    layout = ledger.space.layout
    known = [0, *range(1 + layout.numeric, 1 + layout.width)]
    left = np.abs(ledger.sums[number]) > 8 * ledger.errors[number] + 1e-6
    return np.asarray(~left[:, known].any(1))


def _solved(
    ledger: Ledger, bins: np.ndarray, rows: np.ndarray, left: np.ndarray, sizes: np.ndarray, column: int
) -> np.ndarray:
    """(rows,) what to add to a number of each row."""
    space, whole, scale, shift = ledger.space, False, 1.0, 0.0
    if space.integers is not None and space.scale is not None and space.shift is not None:
        whole, scale, shift = bool(space.integers[column]), float(space.scale[column]), float(space.shift[column])
    raw = ledger.rows[:, column] * scale + shift
    # Bins that share rows can leave directions open: a row moves no further than its reading was unsure, and hardly if
    # what was read is whole already.
    reach = ledger.doubts[:, column] + 1e-12
    if whole:
        reach = np.where(np.abs(raw - np.round(raw)) < WHOLE, np.minimum(reach, WHOLE / scale), reach)
    weight = 1 / (sizes + 1e-12)
    # A bin that is far off has a row in it that was misread: it must not move the others.
    weight = weight / np.sqrt(1 + (left * weight / OUTLYING) ** 2)
    entries = ledger.slopes[rows] * weight[bins] * reach[rows]
    matrix = csr_matrix((entries, (bins, rows)), shape=(len(left), len(ledger.rows)))
    change: np.ndarray = reach * np.asarray(lsqr(matrix, left * weight, damp=1.0, iter_lim=400)[0])
    if not whole:
        return change
    steps = np.where(np.abs(change * scale) <= FARTHEST, change * scale, 0.0)
    usual = ledger.traps[0].features.usual[column] * scale + shift
    moved = np.round(raw + steps)
    # Where one step is less than rounding may be, a value next to the one that most rows have is that one.
    nearly = (np.abs(moved - usual) <= FARTHEST) & (scale > FINE)
    return np.asarray((np.where(nearly, np.round(usual), moved) - raw) / scale)


def _put_back(ledger: Ledger, moved: np.ndarray) -> None:
    """Replace the rows, in the bins too."""
    for trap, sums in zip(ledger.traps, ledger.sums, strict=True):
        change = (trap.features.of(moved) - trap.features.of(ledger.rows)) * ledger.slopes[:, None]
        for chain in trap.places(ledger.rows).T:
            inside = chain >= 0
            np.subtract.at(sums, chain[inside], change[inside])
    ledger.rows = moved
