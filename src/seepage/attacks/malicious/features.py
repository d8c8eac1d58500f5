"""What the sum of a bin is made of: the slopes of its rows, times things that are known functions of a row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from seepage.observation import Space

RAMPS = 24  # per number, at most


@dataclass(frozen=True, eq=False)
class Features:
    """A row as a bin's sum sees it: a 1, the inputs above an origin, and numbers above some heights.

    Args:
        origin: (width,) the input of a 0 for a category, a lower end for a number.
        unit: (width,) the input of a 1 above that of a 0 for a category; 1 for a number.
        numeric: how many inputs are numbers.
        columns, heights: (ramps,) which number each ramp is of, and where it begins.
        usual: (numeric,) the value that most public rows have in a number; NaN where there is none.
    """

    origin: np.ndarray
    unit: np.ndarray
    numeric: int
    columns: np.ndarray
    heights: np.ndarray
    usual: np.ndarray

    def of(self, rows: np.ndarray) -> np.ndarray:
        """(rows, 1 + width + ramps)."""
        inputs = rows - self.origin
        ramps = np.maximum(rows[:, self.columns] - self.heights, 0.0)
        return np.concatenate([np.ones((len(rows), 1)), inputs, ramps], axis=1)

    @property
    def count(self) -> int:
        """How many there are beside the 1."""
        return len(self.origin) + len(self.heights)


def plain_features(space: Space, public: np.ndarray) -> Features:
    """Inputs as they are, without ramps."""
    none = np.zeros(0)
    origin, unit = _ends(space, public)
    origin[: space.layout.numeric] = 0.0
    return Features(origin, unit, space.layout.numeric, none.astype(np.int64), none, _usual(space, public))


def ramped_features(space: Space, public: np.ndarray) -> Features:
    """Inputs above their lower ends, and ramps that tell two numbers of one bin apart."""
    origin, unit = _ends(space, public)
    columns: list[int] = []
    heights: list[float] = []
    for column in range(space.layout.numeric):
        found = _heights(space, public, column)
        columns += [column] * len(found)
        heights += list(found)
    places = np.array(columns, dtype=np.int64)
    return Features(origin, unit, space.layout.numeric, places, np.array(heights), _usual(space, public))


def _ends(space: Space, public: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The input of a 0 (numbers: below all of them), and from there to a 1."""
    width, numeric = space.layout.width, space.layout.numeric
    shift = np.zeros(width) if space.shift is None else space.shift.double().numpy()
    scale = np.ones(width) if space.scale is None else space.scale.double().numpy()
    origin, unit = -shift / scale, 1 / scale
    reach = np.ptp(public, axis=0)[:numeric] + 1.0
    origin[:numeric], unit[:numeric] = public[:, :numeric].min(0) - 0.5 * reach, 1.0
    if space.low is not None and space.scale is not None:
        low = (space.low.double().numpy() - shift[:numeric]) / scale[:numeric]
        # Not at the lowest value itself: a number there would be read as nothing.
        origin[:numeric] = low - 0.05 * reach
    return origin, unit


def _usual(space: Space, public: np.ndarray) -> np.ndarray:
    """(numeric,) the value of more than half of the public rows; NaN if no value is so frequent."""
    middle = np.median(public[:, : space.layout.numeric], axis=0)
    share = (np.abs(public[:, : space.layout.numeric] - middle) < 1e-9).mean(0) if len(middle) else np.zeros(0)
    return np.where(share > 0.5, middle, np.nan)


def _heights(space: Space, public: np.ndarray, column: int) -> np.ndarray:
    """Where the ramps of a number begin: at quantiles, around values that many rows have."""
    values = public[:, column]
    levels = np.unique(np.quantile(values, np.linspace(0, 1, RAMPS + 1)[1:-1], method="nearest"))
    if space.scale is None or space.shift is None or space.integers is None or not bool(space.integers[column]):
        return np.asarray(levels)
    scale, shift = float(space.scale[column]), float(space.shift[column])
    whole = np.round(levels * scale + shift)
    halves = np.unique(np.concatenate([whole - 0.5, whole + 0.5])) if len(whole) <= RAMPS // 2 else whole + 0.5
    return np.asarray((halves - shift) / scale)
