"""Which row of a restart stands for which row of the best one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from seepage.observation import Space

Likeness = Callable[[np.ndarray, np.ndarray], np.ndarray]


def distance(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """L1 distances of all pairs of rows."""
    cost: np.ndarray = cdist(one, other, "cityblock")
    return cost


class Alignment(Protocol):
    """Costs of all pairs of rows of two restarts, (rows, width) each; ``raw`` says whether blocks are in raw units."""

    def __call__(self, one: np.ndarray, other: np.ndarray, space: Space, *, raw: bool) -> np.ndarray: ...


@dataclass(frozen=True, kw_only=True)
class SoftRows:
    """The L1 distance of the rows as they are, with blocks that are mixtures of categories."""

    def __call__(self, one: np.ndarray, other: np.ndarray, space: Space, *, raw: bool) -> np.ndarray:
        return distance(one, other)


@dataclass(frozen=True, kw_only=True)
class RightCells:
    """The more cells of the projected rows agree, the nearer: equal categories, numbers within a tolerance (TabLeak).

    Numbers are taken in the units of inputs, which are deviations where clients standardise them; they are clamped and
    rounded where ranges are known.

    Args:
        tolerance: how far two numbers may lie apart.

    References:
        Vero et al., TabLeak, section 3.2.
    """

    tolerance: float = 0.319

    def __call__(self, one: np.ndarray, other: np.ndarray, space: Space, *, raw: bool) -> np.ndarray:
        (numbers, codes), (others, other_codes) = (_projected(rows, space, raw) for rows in (one, other))
        cost = np.zeros((len(one), len(other)), dtype=np.int32)
        for j in range(numbers.shape[1]):
            cost -= np.abs(numbers[:, j, None] - others[None, :, j]) <= self.tolerance
        for j in range(codes.shape[1]):
            cost -= codes[:, j, None] == other_codes[None, :, j]
        return cost


SOFT_ROWS = SoftRows()


def align(runs: np.ndarray, losses: np.ndarray, cost: Likeness = distance) -> np.ndarray:
    """Every restart in the row order of the one with the lowest loss (Hungarian method)."""
    aligned, best = runs.copy(), losses.argmin()
    for place, run in enumerate(runs):
        if place != best:  # the cube of the rows is spared where there is nothing to align
            aligned[place] = run[linear_sum_assignment(cost(runs[best], run))[1]]
    return aligned


def merged(runs: np.ndarray, sets: int, cost: Likeness = distance) -> np.ndarray:
    """(..., sets x rows, width) several guesses of the same rows to one: aligned to the first set, then the mean."""
    if sets == 1:
        return runs
    *leading, rows, width = runs.shape
    parts = runs.reshape(-1, sets, rows // sets, width)
    first = np.zeros(sets)
    means = [align(part, first, cost).mean(0) for part in parts]
    return np.stack(means).reshape(*leading, rows // sets, width)


def _projected(rows: np.ndarray, space: Space, raw: bool) -> tuple[np.ndarray, np.ndarray]:
    """Numbers in the units of inputs, valid if ranges are known, and the category of every block."""
    layout = space.layout
    numbers = rows[:, : layout.numeric].astype(np.float64)
    if space.integers is not None and space.shift is not None and space.scale is not None:
        shift, scale = (each[: layout.numeric].numpy() for each in (space.shift, space.scale))
        valid = numbers * scale + shift
        valid = np.where(space.integers.numpy(), np.round(valid), valid)
        if space.low is not None and space.high is not None:
            valid = np.clip(valid, space.low.numpy(), space.high.numpy())
        numbers = (valid - shift) / scale
    if not raw and space.shift is not None and space.scale is not None:  # free blocks are inputs
        rows = rows * space.scale.numpy() + space.shift.numpy()
    codes = [rows[:, block.start : block.stop - layout.embedded].argmax(1) for block in layout.blocks]
    return numbers, np.stack(codes, 1) if codes else np.zeros((len(rows), 0), dtype=np.int64)
