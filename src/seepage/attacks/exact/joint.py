r"""The last few rows, together: which set of rows rebuilds what is left of the update.

Rows that the single tests cannot tell apart, such as two with the same categories on the same side of every ReLU, still
make one gradient together. A set of rows with labels is fitted to it by Gauss-Newton over all numbers at once.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from seepage.attacks.exact.certificate import LIMIT, PRECISE, RIVAL
from seepage.attacks.exact.view import View, layer_gradient
from seepage.attacks.inversion import Runs

STEP = 1e-5  # of a difference
TRIES = 6  # sets of rows that are fitted
ENTRIES = 2**27  # of the derivative of all gradients by all numbers: a gigabyte


@dataclass(frozen=True, eq=False)
class Fit:
    """A set of rows and how well it rebuilds the update.

    Args:
        codes, numbers, labels: the rows.
        excess: the misfit per entry in units of the update's error; about 1 for the truth.
        certain: no other set that was looked at fits as well, and the numbers are determined.
    """

    codes: Tensor
    numbers: Tensor
    labels: Tensor
    excess: float
    certain: bool = False


def affordable(view: View, rows: int) -> bool:
    """Whether so many rows can be fitted together: the derivative by all their numbers must fit into memory."""
    entries = sum(layer_gradient(view.gradient, layer).numel() for layer in view.layers)
    return rows * view.numeric * entries <= ENTRIES


def best_set(view: View, runs: Runs) -> Fit | None:
    """The set of rows that rebuilds the update best, among those that the optimiser ended at."""
    alive = np.isfinite(runs.losses) & np.isfinite(runs.rows).all((1, 2))
    regression = view.learner.task == "regression"
    seen: set[tuple[tuple[int, ...], ...]] = set()
    fits: list[Fit] = []
    for place in np.argsort(np.where(alive, runs.losses, np.inf))[: int(alive.sum())]:
        rows = torch.from_numpy(runs.rows[place]).double()
        labels = runs.used if runs.labels is None else torch.from_numpy(runs.labels[place])
        if labels is None or len(rows) != view.rows:
            continue
        pairs = zip(view.space.layout.blocks, view.allowed, strict=True)
        blocks = [rows[:, block].masked_fill(~allowed, -torch.inf).argmax(1) for block, allowed in pairs]
        codes = torch.stack(blocks, 1) if blocks else torch.zeros(len(rows), 0, dtype=torch.long)
        key = tuple(sorted(map(tuple, codes.tolist())))
        if key in seen:
            continue
        seen.add(key)
        numbers = rows[:, : view.numeric].clamp(view.low, view.high)
        fits.append(fit(view, codes, numbers, labels.double() if regression else labels.long()))
        if len(seen) >= TRIES:
            break
    if not fits:
        return None
    best = min(fits, key=lambda each: each.excess)
    return replace(best, certain=not regression and certain(view, best))


def misfit(view: View, codes: Tensor, numbers: Tensor, labels: Tensor) -> Tensor:
    """What the rows leave of the linear layers' gradients, entry by entry in units of its error."""
    part = view.learner.gradient(view.parameters, view.rows_of(codes, numbers), labels)
    share = len(codes) / view.total
    rest = {name: value - share * part[name] for name, value in view.gradient.items()}
    pieces = [
        layer_gradient(rest, layer).flatten() / span.error for layer, span in zip(view.layers, view.spans, strict=True)
    ]
    return torch.cat(pieces)


def fit(view: View, codes: Tensor, numbers: Tensor, labels: Tensor, steps: int = 15) -> Fit:
    """The numbers with which these categories and labels rebuild the update best."""
    miss = misfit(view, codes, numbers, labels)
    damping = 1e-3
    for _ in range(steps):
        if not view.numeric:
            break
        slope = _slope(view, codes, numbers, labels)
        square = slope @ slope.T
        ridge = torch.diag(damping * torch.diagonal(square) + 1e-12)
        step = torch.linalg.solve(square + ridge, slope @ miss).reshape(numbers.shape)
        trial = (numbers - step).clamp(view.low - 1e-3, view.high + 1e-3)
        trial_miss = misfit(view, codes, trial, labels)
        if float(trial_miss.norm()) < float(miss.norm()):
            small = float((trial - numbers).abs().max()) < 1e-9
            numbers, miss, damping = trial, trial_miss, max(damping * 0.1, 1e-9)
            if small:
                break
        else:
            damping *= 10
            if damping > 1e6:
                break
    return Fit(codes, numbers, labels, float(miss.norm()) / len(miss) ** 0.5)


def certain(view: View, best: Fit) -> bool:
    """Whether the set rebuilds the update, its numbers are determined, and no rival set does as well.

    Rivals: every other category of every cell and every other label, the numbers fitted again to first order; every
    exchange of a category or of a number between two rows.
    """
    if best.excess > LIMIT or view.compressed:
        return False
    miss = misfit(view, best.codes, best.numbers, best.labels)
    basis = miss.new_zeros(len(miss), 0)
    if view.numeric:
        slope = _slope(view, best.codes, best.numbers, best.labels)
        values = torch.linalg.svdvals(slope)
        # All that the error can move along the least determined direction.
        if len(values) < len(slope) or LIMIT * len(slope) ** 0.5 / float(values[-1].clamp(min=1e-300)) > PRECISE:
            return False
        basis = torch.linalg.qr(slope.T)[0]
    allowed = RIVAL * LIMIT * len(miss) ** 0.5
    for codes, numbers, labels, refitted in _rivals(view, best):
        other = misfit(view, codes, numbers, labels)
        other = other - basis @ (basis.T @ other) if refitted else other
        if float(other.norm()) < allowed:
            return False
    return True


def _slope(view: View, codes: Tensor, numbers: Tensor, labels: Tensor) -> Tensor:
    """(numbers of all rows, entries) the derivative of the misfit.

    By differences in float64: forward-mode differentiation of a squared loss's own gradient fails inside of ``vmap``.
    """
    count = numbers.numel()
    directions = torch.eye(count, dtype=numbers.dtype).reshape(count, *numbers.shape)

    def along(direction: Tensor) -> Tensor:
        ahead, behind = (misfit(view, codes, numbers + step * direction, labels) for step in (STEP, -STEP))
        return (ahead - behind) / (2 * STEP)

    result: Tensor = view.learner.mapped(along, chunk=64)(directions)
    return result


def _rivals(view: View, best: Fit) -> list[tuple[Tensor, Tensor, Tensor, bool]]:
    """Sets that differ from the best one in one respect; and whether their numbers may be fitted again."""
    rivals: list[tuple[Tensor, Tensor, Tensor, bool]] = []
    rows = range(len(best.codes))
    for row, (column, allowed) in itertools.product(rows, enumerate(view.allowed)):
        for choice in allowed.nonzero()[:, 0].tolist():
            if choice != int(best.codes[row, column]):
                codes = best.codes.clone()
                codes[row, column] = choice
                rivals.append((codes, best.numbers, best.labels, True))
    for row, label in itertools.product(rows, range(max(view.outputs, 2))):
        if view.learner.task != "regression" and label != int(best.labels[row]):
            labels = best.labels.clone()
            labels[row] = label
            rivals.append((best.codes, best.numbers, labels, True))
    for one, other in itertools.combinations(rows, 2):
        if int(best.labels[one]) != int(best.labels[other]):
            rivals.append((best.codes, best.numbers, _swapped(best.labels, one, other), False))
        for column in range(best.codes.shape[1]):
            if int(best.codes[one, column]) != int(best.codes[other, column]):
                rivals.append((_swapped(best.codes, one, other, column), best.numbers, best.labels, True))
        for column in range(best.numbers.shape[1]):
            if abs(float(best.numbers[one, column] - best.numbers[other, column])) > PRECISE:
                rivals.append((best.codes, _swapped(best.numbers, one, other, column), best.labels, False))
    return [rival for rival in rivals if not _same(best, rival)]


def _swapped(values: Tensor, one: int, other: int, column: int | None = None) -> Tensor:
    changed = values.clone()
    place = () if column is None else (column,)
    changed[(one, *place)], changed[(other, *place)] = values[(other, *place)].clone(), values[(one, *place)].clone()
    return changed


def _same(best: Fit, rival: tuple[Tensor, Tensor, Tensor, bool]) -> bool:
    """Whether a rival is the best set in another order."""

    def key(codes: Tensor, numbers: Tensor, labels: Tensor) -> list[tuple[float, ...]]:
        table = torch.cat([codes.double(), (numbers / PRECISE).round(), labels.double()[:, None]], 1)
        return sorted(tuple(row) for row in table.tolist())

    return key(best.codes, best.numbers, best.labels) == key(*rival[:3])
