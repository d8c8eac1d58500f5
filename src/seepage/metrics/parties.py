"""How much the sides of vertical federated learning read of each other (attacks in ``attacks/vertical``)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from seepage._core import InputError
from seepage.data import Encoder, Layout, Statistics, Table
from seepage.metrics.reconstruction import TOLERANCE
from seepage.metrics.reference import Reference

ALIKE = 0.95  # correlation of two columns that are nearly the same


@dataclass(frozen=True, kw_only=True)
class ColumnsRead:
    """How much of each column was read, and what a guess gets.

    Args:
        columns: for each column, the share of its rows that is right.
        mean: over all columns.
        baseline: the same shares for a guess that knows nothing of a row: the mean of a number, the most frequent
            category.
        baseline_mean: over all columns.
    """

    columns: dict[str, float]
    mean: float
    baseline: dict[str, float]
    baseline_mean: float


def columns_read(encoder: Encoder, statistics: Statistics, claimed: np.ndarray, truth_table: Table) -> ColumnsRead:
    """In how many rows is each column right?

    A number is right within ``TOLERANCE`` of the table's own deviations, a category if it is equal. Rows are compared
    in their order: in vertical learning the parties have aligned them.

    Args:
        encoder, statistics: of the true table's encoding.
        claimed: (rows, width) encodings, as an attack returns them.
        truth_table: the rows that are behind them.
    """
    expected = (len(truth_table), encoder.layout.width)
    if not len(truth_table):
        raise InputError("There are no true rows to compare with.")
    if claimed.shape != expected:
        raise InputError(f"The claimed encodings have the shape {claimed.shape}; the true rows need {expected}.")
    if not np.isfinite(claimed).all():
        raise InputError("The claimed encodings hold values that are not finite numbers.")
    reference = Reference.of(truth_table)
    modes = np.array([share.argmax() for share in reference.shares], dtype=np.int64)
    read = _shares(encoder.decode(claimed, statistics), truth_table, reference)
    guessed = _shares((truth_table.numbers.mean(0), modes), truth_table, reference)
    return ColumnsRead(
        columns=read,
        mean=float(np.mean(list(read.values()))),
        baseline=guessed,
        baseline_mean=float(np.mean(list(guessed.values()))),
    )


def binary_found(found: np.ndarray, truth_encoding: np.ndarray, layout: Layout) -> dict[str, float]:
    """How many of a guest's yes-or-no columns were found, and how much of what was found is one?

    The true ones are the one-hot entries, and numbers of two values. Entries that do not vary in these rows are none.
    Vectors count up to their complement.

    Args:
        found: (found, rows) zeros and ones.
        truth_encoding: (rows, width) the guest's encoding, standardised or not.
        layout: of the encoding.

    Returns:
        ``entries``: how many there are. ``entries_found``: the share that was found in every row, ``entries_near`` with
        a correlation of ``ALIKE`` at least, ``entries_implied`` that is a combination of found vectors (such as the
        largest category of a block of which all others were found). ``found``: how many were found. ``one_column``: the
        share of these that is a function of a single column, ``one_column_near`` that nearly is; NaN for none.
    """
    if truth_encoding.ndim != 2 or truth_encoding.shape[1] != layout.width:
        raise InputError(
            f"The encoding has the shape {truth_encoding.shape}, but its layout has {layout.width} columns."
        )
    if found.ndim != 2 or found.shape[1] != len(truth_encoding):
        raise InputError(f"The found columns have the shape {found.shape}; there are {len(truth_encoding)} true rows.")
    if not np.isin(found, (0, 1)).all():
        raise InputError("The found columns must be zeros and ones.")
    columns = _codes(truth_encoding, layout)
    entries = [codes == value for codes in columns for value in range(codes.max() + 1)]
    true = np.array([e for e in entries if e.any() and not e.all()], dtype=bool).reshape(-1, len(truth_encoding))
    known = found.astype(bool)
    known = known[known.any(1) & ~known.all(1)]
    closest = _correlation(true, known).max(1, initial=0.0)
    functions = np.array([_nearest_functions(known, codes) for codes in columns])  # (columns, found, rows)
    exact, near = np.zeros(len(known), dtype=bool), np.zeros(len(known), dtype=bool)
    for each in functions:
        exact |= (each == known).all(1)
        near |= np.array([_correlation(a[None], b[None])[0, 0] for a, b in zip(each, known, strict=True)]) >= ALIKE
    return {
        "entries": float(len(true)),
        "entries_found": _mean(closest > 1 - 1e-9),
        "entries_near": _mean(closest >= ALIKE),
        "entries_implied": _mean(_implied(true, known)),
        "found": float(len(known)),
        "one_column": _mean(exact),
        "one_column_near": _mean(near),
    }


def label_leak_auc(score: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """How well does a score tell the two classes of a binary task apart?

    Args:
        score: (rows,) high for the rarer class, as the attacks orient it.
        y: (rows,) the labels, 0 and 1.

    Returns:
        ``auc``: the chance that a row of the rarer class has the higher score (of two equally frequent classes, a row
        of class 1). ``auc_either``: the same for an attacker who learns which side is which, max(auc, 1 - auc).
    """
    labels = np.asarray(y)
    if score.ndim != 1 or labels.shape != score.shape:
        raise InputError(f"Scores and labels must be two lists of one length; they are {score.shape}, {labels.shape}.")
    if not np.isfinite(score).all():
        raise InputError("The scores hold values that are not finite numbers.")
    classes = np.unique(labels)
    if not np.isin(classes, (0, 1)).all():
        raise InputError(f"The leak of labels is measured for binary tasks, labels 0 and 1; there are {_few(classes)}.")
    if len(classes) < 2:
        raise InputError("The leak of labels cannot be measured: all rows are of one class.")
    from scipy.stats import rankdata  # takes a second to load

    ones = labels == 1
    rarer = ones if 2 * ones.sum() <= len(ones) else ~ones
    count = int(rarer.sum())
    above = rankdata(score)[rarer].sum() - count * (count + 1) / 2
    auc = float(above / (count * (len(rarer) - count)))
    return {"auc": auc, "auc_either": max(auc, 1 - auc)}


def _shares(guess: tuple[np.ndarray, np.ndarray], truth: Table, reference: Reference) -> dict[str, float]:
    numbers, codes = guess
    deviation = np.where(reference.deviation > 0, reference.deviation, 1.0)
    right = np.concatenate([np.abs(truth.numbers - numbers) <= TOLERANCE * deviation, truth.codes == codes], axis=1)
    names = [column.name for column in (*truth.schema.numeric, *truth.schema.categorical)]
    return {name: float(share) for name, share in zip(names, right.mean(0), strict=True)}


def _codes(encoding: np.ndarray, layout: Layout) -> list[np.ndarray]:
    """(rows,) the category in each column: of every block, and of numbers with two values."""
    low, high = encoding.min(0), encoding.max(0)
    upper = (encoding > (low + high) / 2).astype(np.int64)
    two = [j for j in range(layout.numeric) if low[j] < high[j] and len(np.unique(encoding[:, j])) == 2]
    # An entry that is always on does not stand out from its own range, but then no other entry of its block is on.
    blocks = [np.where(upper[:, b].any(1), upper[:, b].argmax(1), b.stop - b.start) for b in layout.blocks]
    return [*(upper[:, j] for j in two), *blocks]


def _nearest_functions(known: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """(found, rows) for each found vector the nearest function of a column: per category, what most rows have."""
    member = codes[:, None] == np.arange(codes.max() + 1)  # (rows, categories)
    ones = known.astype(np.float64) @ member
    chosen: np.ndarray = (2 * ones > member.sum(0))[:, codes]
    return chosen


def _correlation(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """(len(a), len(b)) without sign; 0 with a constant."""

    def unit(rows: np.ndarray) -> np.ndarray:
        centred = rows - rows.mean(1, keepdims=True)
        length = np.linalg.norm(centred, axis=1, keepdims=True)
        return np.asarray(centred / np.where(length > 0, length, 1.0))

    return np.asarray(np.abs(unit(a) @ unit(b).T))


def _implied(true: np.ndarray, known: np.ndarray) -> np.ndarray:
    """(entries,) which true vectors are combinations of the known ones and the constant."""
    span = np.concatenate([np.ones((1, true.shape[1])), known])
    _, sizes, right = np.linalg.svd(span, full_matrices=False)
    right = right[sizes > 1e-9 * sizes[0]]
    rest: np.ndarray = np.abs(true - (true @ right.T) @ right).max(1, initial=0.0) < 1e-6
    return rest


def _mean(values: np.ndarray) -> float:
    return float(values.mean()) if len(values) else float("nan")


def _few(classes: np.ndarray) -> str:
    shown = ", ".join(str(c) for c in classes[:4])
    return f"{shown}, ..." if len(classes) > 4 else shown


def psnr_of_tiles(claimed: np.ndarray, true: np.ndarray, tiles: int) -> float:
    """PSNR as CAFE's authors measure it: pixels are cut to 0 and 1, every tile of every picture has its own, and the
    mean of those is told. A few pictures that are exact raise it far more than :func:`psnr`, which sees all pixels
    together.

    Args:
        claimed, true: (pictures, pixels) square pictures.
        tiles: parts of a picture, one for each worker.
    """
    side, across = math.isqrt(true.shape[1]), math.isqrt(tiles)
    error = (np.clip(claimed, 0.0, 1.0).astype(np.float64) - true) ** 2
    parts = error.reshape(len(true), across, side // across, across, side // across).mean(axis=(2, 4))
    return float(np.mean(-10 * np.log10(np.maximum(parts, 1e-12))))


def psnr(claimed: np.ndarray, true: np.ndarray, peak: float = 1.0) -> float:
    """Peak signal-to-noise ratio in decibels: 10 log10(peak^2 / mean squared error). 30 looks right, 100 is exact.

    Args:
        peak: the largest value there can be; 1 for pixels between 0 and 1, and for standardised inputs.
    """
    error = float(np.mean((np.asarray(claimed, dtype=np.float64) - true) ** 2))
    return 10 * float(np.log10(peak**2 / max(error, 1e-30)))
