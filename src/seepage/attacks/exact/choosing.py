r"""Rows that hide each other are chosen together, out of a list of all that they can be.

People whose categories are all alike and who differ in one number, such as small children in a census, lie on a line:
:math:`x_i = b + a_i e`. However many they are, they span two dimensions, and what the first layer shows of them is
:math:`\sum_i \delta_i` and :math:`\sum_i a_i \delta_i`; no row has a place of its own in it. But how many of each are
there can still be told, where the open number is whole: every value that it can have is an *atom*, a row with a label
whose own gradients at the weights of all rounds are known. What was sent is a sum of atoms with whole weights that
are not negative, and that is a problem with one solution (non-negative least squares, Lawson and Hanson, 1974).

Nothing is taken for granted: the weights must come out whole, add up to the rows that are left, and leave nothing.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import torch
from scipy.optimize import nnls
from torch import Tensor

from seepage.attacks.exact.search import Leaves
from seepage.attacks.exact.settling import Found, classes, inside
from seepage.attacks.exact.stacked import Rounds

MOST = 20_000  # atoms
BEYOND, TOGETHER, SETS = 5, 4, 3_000_000  # values beyond those with a weight; rows of one line; sets that are tried
TRIES = 60  # times that atoms are added
ADDED = 400  # of the atoms that are looked at together, at most
WHOLE = 0.1  # how far a weight may be from a whole number
EXPLAINED = 2e-3  # of what is left, that may stay: the rows that were taken away have small errors of their own


def chosen_together(rounds: Rounds, leaves: Leaves) -> Found | None:
    """Rows that are left, with their labels; None if what is left is no sum of valid rows."""
    left, labels_of = rounds.total - len(rounds.rows), classes(rounds.view)
    rows = _rows(rounds, leaves)
    if rows is None or not 0 < len(rows) * labels_of <= MOST:
        return None
    labels, rows = torch.arange(labels_of).double().repeat_interleave(len(rows)), rows.repeat(labels_of, 1)
    sent = rounds.told(rounds.left)
    pieces = zip(torch.split(rows, 500), torch.split(labels, 500), strict=True)
    atoms = torch.cat([rounds.told_of(*piece) for piece in pieces]).numpy()
    weights, rest = _sparse(atoms, sent.numpy())
    if rest > EXPLAINED * float(sent.norm()) or abs(weights.sum() - left) > WHOLE:
        return None
    lines = _lines(rounds, rows)
    found: list[int] = []
    for line in np.unique(lines[weights > 0]):
        found += _whole(atoms, weights, np.flatnonzero(lines == line))
    if not 0 < len(found) <= left:
        return None
    return Found(rows[found], labels[found], torch.zeros(len(found), dtype=torch.bool))


def _lines(rounds: Rounds, rows: Tensor) -> np.ndarray:
    """(rows,) equal numbers for rows of equal categories."""
    return np.unique(rows[:, rounds.view.numeric :].numpy().round(4), axis=0, return_inverse=True)[1].reshape(-1)


def _whole(atoms: np.ndarray, weights: np.ndarray, line: np.ndarray) -> list[int]:
    """The atoms of one line that add up to what its weights add up to; none where these are no whole rows."""
    count, wanted = float(weights[line].sum()), weights[line] @ atoms[line]
    many = round(count)
    near = line[weights[line] > 0]
    if abs(count - many) > WHOLE or not many:
        return []
    single = np.flatnonzero(np.abs(weights[near] - np.rint(weights[near])) < WHOLE / 5)
    if len(single) == len(near):
        return [int(place) for place in np.repeat(near, np.rint(weights[near]).astype(np.int64))]
    # Values between the smallest and the largest that have a weight, and a few beyond them.
    order = {int(place): at for at, place in enumerate(line)}
    first, last = order[int(near[0])], order[int(near[-1])]
    tried = line[max(0, first - BEYOND) : last + 1 + BEYOND]
    if many > TOGETHER or len(tried) ** many > SETS:
        return []
    sets = np.array(list(itertools.combinations_with_replacement(range(len(tried)), many)))
    # Distances by products of atoms: the atoms themselves are long.
    product, along = atoms[tried] @ atoms[tried].T, atoms[tried] @ wanted
    pairs = product[sets[:, :, None], sets[:, None, :]].sum((1, 2))
    best = sets[int((pairs - 2 * along[sets].sum(1)).argmin())]
    return [int(place) for place in tried[best]]


def _rows(rounds: Rounds, leaves: Leaves) -> Tensor | None:
    """Every valid row in the span, with whole numbers put in for what is open; None if something else is open."""
    view, space = rounds.view, rounds.view.space
    if not leaves.free:
        return view.rows_of(leaves.codes, leaves.numbers)
    if space.scale is None or space.shift is None or space.low is None or space.high is None:
        return None
    scale, shift = space.scale[: view.numeric].double(), space.shift[: view.numeric].double()
    family = torch.linalg.qr(leaves.family.T)[0].T
    places = family.abs().sum(0).argsort(descending=True)[: leaves.free]  # the numbers that are open
    if not bool(view.integers[places].all()) or float(family[:, places].det().abs()) < 0.5:
        return None
    ranges = [torch.arange(float(space.low[p].ceil()), float(space.high[p].floor()) + 1) for p in places.tolist()]
    if len(leaves.codes) * math.prod(len(each) for each in ranges) > MOST:
        return None
    values = torch.tensor(list(itertools.product(*(each.tolist() for each in ranges)))).double()
    wanted = (values - shift[places]) / scale[places]  # (values, open)
    base = leaves.numbers[:, None] - leaves.numbers[:, None, places] @ torch.linalg.inv(family[:, places]) @ family
    numbers = (base + wanted @ torch.linalg.inv(family[:, places]) @ family).flatten(0, 1)
    codes = leaves.codes.repeat_interleave(len(values), 0)
    numbers[:, places] = wanted.repeat(len(leaves.codes), 1)
    kept = inside(view, numbers)
    return view.rows_of(codes[kept], numbers[kept])


def _sparse(atoms: np.ndarray, wanted: np.ndarray) -> tuple[np.ndarray, float]:
    """Weights of non-negative least squares, solved on few atoms that grow by those that would help most."""
    lengths = np.maximum(np.linalg.norm(atoms, axis=1), 1e-300)
    active: list[int] = []
    weights, rest = np.zeros(len(atoms)), wanted
    for _ in range(TRIES):
        gain = atoms @ rest / lengths
        gain[active] = -np.inf
        best = [int(place) for place in np.argsort(gain)[-16:] if gain[place] > 1e-7 * np.linalg.norm(rest)]
        if not best or len(active) > ADDED:
            break
        active += best
        try:
            found, left = nnls(atoms[active].T / lengths[active], wanted, maxiter=100 * len(active))
        except RuntimeError:  # scipy says so when it does not converge
            return weights, float("inf")
        weights = np.zeros(len(atoms))
        weights[active] = found / lengths[active]
        rest = wanted - weights @ atoms
        if left < 1e-6 * np.linalg.norm(wanted):
            break
        active = [place for place in active if weights[place] > 0] + active[-16:]
        active = list(dict.fromkeys(active))
    return weights, float(np.linalg.norm(rest))
