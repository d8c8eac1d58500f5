"""Bins with one row: the sum over its slope is the row, and everything that a bin adds up must agree with it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from seepage.attacks.malicious.features import Features
from seepage.observation import Space

CELL = 6e-8  # of single precision
CLOSE = 1e-3  # deviations within which a number may be taken for the usual one


@dataclass(frozen=True, eq=False)
class Found:
    """Rows that were read.

    Args:
        rows: (rows, width) inputs.
        slopes: (rows,) what each adds to the sums of its bins.
        bins: (rows,) the bin that each was read in.
        errors: (rows, 1 + features) how far off what it adds to a sum may be.
        settled: (rows, 1 + features) of which of these the slope is the only doubt.
    """

    rows: np.ndarray
    slopes: np.ndarray
    bins: np.ndarray
    errors: np.ndarray
    settled: np.ndarray

    def only(self, chosen: np.ndarray) -> Found:
        """Some of them."""
        return Found(*(each[chosen] for each in (self.rows, self.slopes, self.bins, self.errors, self.settled)))


def one_row(sums: np.ndarray, errors: np.ndarray, bins: np.ndarray, features: Features, space: Space) -> Found:
    """The rows of the bins that hold one row (or several equal ones).

    Args:
        sums: (bins, 1 + features).
        errors: (bins, 1 + features) what rounding may have done to each.
        bins: the bins to look at.
    """
    layout = space.layout
    bins = bins[np.abs(sums[bins, 0]) > 20 * errors[bins, 0]]
    slopes = sums[bins, 0]
    inputs = sums[bins, 1 : 1 + layout.width] / slopes[:, None]
    slack = (errors[bins, 1 : 1 + layout.width] + np.abs(inputs) * errors[bins, :1]) / np.abs(slopes)[:, None]
    rows = inputs + features.origin
    right = np.ones(len(bins), dtype=bool)
    for block in layout.blocks:
        share, near = inputs[:, block] / features.unit[block], 3 * slack[:, block] / features.unit[block]
        one, zero = np.abs(share - 1) <= near + 1e-6, np.abs(share) <= near + 1e-6
        # No category at all is one that training never saw. One of several is always there with embeddings.
        right &= (one | zero).all(1) & (one.sum(1) <= 1) & (one.any(1) | (not layout.embedded)) & (near < 0.2).all(1)
        rows[:, block] = features.origin[block] + one * features.unit[block]
    numeric = slice(0, layout.numeric)
    rows[:, numeric], settled = whole_numbers(rows[:, numeric], 3 * slack[:, numeric], space, features.usual)
    made = features.of(rows)
    own = carried(made, slopes, errors[bins], settled, features)
    allowed = 4 * errors[bins] + _of_slope(made, errors[bins]) + 3 * _of_cells(made, slopes, features)
    right &= (np.abs(made * slopes[:, None] - sums[bins]) <= allowed).all(1)
    return Found(rows, slopes, bins, *own).only(right)


def whole_numbers(
    numbers: np.ndarray, slack: np.ndarray, space: Space, usual: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Numbers with those that are whole made whole, where the error leaves one choice; and which are settled so.

    Where it leaves several, and one is the value that most rows have, it is that.
    """
    settled = np.zeros(numbers.shape, dtype=bool)
    if space.integers is None or space.scale is None or space.shift is None:
        return numbers, settled
    count = numbers.shape[1]
    scale, shift = space.scale[:count].double().numpy(), space.shift[:count].double().numpy()
    raw = numbers * scale + shift
    settled = (slack * scale < 0.3) & space.integers.numpy()
    whole = np.where(settled, (np.round(raw) - shift) / scale, numbers)
    common = ~settled & (np.abs(numbers - usual) <= np.minimum(slack, CLOSE)) & space.integers.numpy()
    return np.where(common, usual, whole), settled | common


def carried(
    made: np.ndarray, slopes: np.ndarray, errors: np.ndarray, settled: np.ndarray, features: Features
) -> tuple[np.ndarray, np.ndarray]:
    """(rows, 1 + features) how far off a row's part of other sums may be, and where only its slope is in doubt."""
    own, sure = _of_slope(made, errors), np.ones(made.shape, dtype=bool)
    for column in np.flatnonzero(~settled.all(0)):
        places = [1 + column, *(1 + len(features.origin) + np.flatnonzero(features.columns == column))]
        own[:, places] += np.where(settled[:, [column]], 0.0, errors[:, [1 + column]])
        sure[:, places] = settled[:, [column]]
    cells = _of_cells(made, slopes, features)
    return own + cells, sure


def _of_cells(made: np.ndarray, slopes: np.ndarray, features: Features) -> np.ndarray:
    """What single precision makes of a number that is known exactly: the client's input is rounded."""
    starts = np.concatenate([[0.0], np.abs(features.origin), np.abs(features.heights)])
    size = 0.5 + np.abs(made) + starts
    size[:, 0], size[:, 1 + features.numeric : 1 + len(features.origin)] = 0.0, 0.0
    return np.asarray(CELL * size * np.abs(slopes)[:, None])


def _of_slope(made: np.ndarray, errors: np.ndarray) -> np.ndarray:
    return np.asarray(np.abs(made) * errors[:, :1])
