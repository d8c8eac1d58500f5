r"""Which yes-or-no columns does a guest hold? Found in its messages, without knowing anything of its model.

The columns of :math:`[Z, 1]` span the same space :math:`V` as those of the guest's encoding (``space.py``). A binary
feature, or one entry of a one-hot block, is a vector of zeros and ones in it. A space of few dimensions holds none by
chance among many rows, so each one that is found is a fact about the guest's rows.

All vectors of :math:`V` with entries in [0, 1] form a polytope, and those of zeros and ones are corners of it. A linear
program walks to corners: **the lightest vector that is 1 in row i** is nearly always the rarest category of that row.
Hundreds of rows are solved at once as one tensor by alternating directions (ADMM); a step is a projection on :math:`V`.
Later batches look for what is missing: rows that must be 0 rule out columns that are known, and directions of
:math:`V` that no known column uses make a vector cheaper. In the end these directions hold only the guest's numbers. At
last, categories that exclude each other more than chance allows belong to one column, and the rows that none of them
covers are its largest category.

Whatever a search proposes is only listed if it lies in :math:`V` as exactly as float32 (and known noise) lets one see.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from seepage._core import InputError, Streams
from seepage.attacks.vertical.space import ColumnSpace, column_space

BATCH = 200  # starts at once
STEPS = 60  # of the linear program; nine of ten are at their corner by then
PULL = 0.05  # of the program's costs in a step, relative to its constraints
AHEAD = 1.6  # over-relaxation
NEWNESS = 3.0  # weight of being new against being light, at most
RULED_OUT = 0.5  # chance that a category of the starting row that is known already is ruled out
BARREN = 3  # batches in a row that find nothing end a search
CHANCE = 10.0  # rows that two categories should share by chance; that they share none then tells something


@dataclass(frozen=True, kw_only=True, eq=False)
class BinaryColumns:
    """Two-valued columns of a guest, the lightest first.

    Args:
        columns: (found, rows) zeros and ones; at most half of a column is ones, since a column and its complement are
            one fact.
        residual: (found,) distance of each to the messages' column space: rounding, where one wrong row would be about
            1.
    """

    columns: np.ndarray
    residual: np.ndarray

    def __len__(self) -> int:
        return len(self.columns)


def binary_columns(z: np.ndarray, *, starts: int = 2000, noise: float = 0.0, streams: Streams) -> BinaryColumns:
    """Find the zeros-and-ones columns behind a guest's messages.

    Guarantees:
        Every listed column lies in the column space of the messages up to float32's rounding. It need not be one entry
        of one column: "red or blue" lies there as well (it is left out where both are listed), and so does a category
        without the rows of a rarer one that lies inside it. A row with a category of its own says nothing about its
        other columns, and is listed as 0 there.

    Args:
        z: (rows, width) messages of one batch, or of all rows if BatchNorm used its running statistics; at least twice
            as many rows as independent columns.
        starts: how many searches are made at most; they end early when nothing new turns up.
        noise: deviation of the noise that the guest adds to every entry, if the host knows it. Without it, the least
            noise hides everything from this search, but not from one that allows for it. With it, rows of rare
            categories may be wrong in a listed column.
        streams: of the search.
    """
    if starts < 1:
        raise InputError(f"The search needs at least one start; {starts} were asked for.")
    space = column_space(z, noise)
    if space.rows < 2 * (space.rank + 1):
        raise InputError(
            f"{space.rows} rows are too few to tell columns from chance: the messages have {space.rank} independent "
            f"columns, so give at least {2 * (space.rank + 1)} rows."
        )
    found = _Found(space)
    if space.rank:
        _search(found, starts, streams.numpy("binary columns"))
        parts, found = _without_unions(found.columns), _Found(space)
        found.add(np.concatenate([parts, _largest(parts)]))
    columns = _by_weight(found.columns)
    return BinaryColumns(columns=columns.astype(np.uint8), residual=space.distance(columns.astype(np.float64)))


class _Found:
    """The columns that were found so far: each verified, none twice, at most half of it ones."""

    def __init__(self, space: ColumnSpace) -> None:
        self.space = space
        self.columns = np.zeros((0, space.rows), dtype=bool)
        self._seen: set[bytes] = set()

    def add(self, candidates: np.ndarray) -> int:
        """Take those of the (n, rows) candidates that are new and true; how many these were."""
        light = _lightened(candidates)
        fresh = []
        for place in np.flatnonzero(light.any(1)):
            code = np.packbits(light[place]).tobytes()
            if code not in self._seen:
                self._seen.add(code)
                fresh.append(place)
        columns = light[fresh]
        true = columns[self.space.holds(columns.astype(np.float64))] if len(columns) else columns
        self.columns = np.concatenate([self.columns, true])
        return len(true)

    def left(self) -> np.ndarray:
        """(rows, dimensions) orthonormal basis of the space without what was found."""
        ones = self.columns.T - self.columns.mean(1)
        inside, sizes, _ = np.linalg.svd(self.space.basis.T @ ones, full_matrices=True)
        rank = int((sizes > 1e-4 * sizes[0]).sum()) if len(sizes) else 0
        return np.asarray(self.space.basis @ inside[:, rank:])


def _lightened(columns: np.ndarray) -> np.ndarray:
    """The columns, or their complements where those have fewer ones (of two equal, the one without the first row)."""
    ones, rows = columns.sum(1), columns.shape[1]
    heavy = (2 * ones > rows) | ((2 * ones == rows) & columns[:, 0])
    return np.asarray(columns ^ heavy[:, None])


def _search(found: _Found, starts: int, generator: np.random.Generator) -> None:
    """Linear programs, batch after batch, until they find nothing new."""
    basis = found.space.with_constant.astype(np.float32)
    barren = 0
    while starts > 0 and barren < BARREN:
        left = found.left()
        if not left.shape[1]:
            return
        # A row with a rare category that is still missing stands out in what is left.
        weight = (left**2).sum(1) + 1 / len(left)
        rows = generator.choice(len(left), size=min(BATCH, starts, len(left)), p=weight / weight.sum(), replace=False)
        costs = np.ones((1, 1))
        if len(found.columns):
            ways = left @ generator.normal(size=(left.shape[1], len(rows)))
            ways *= np.sign(ways[rows, np.arange(len(rows))])
            costs = 1 - generator.uniform(0, NEWNESS, len(rows)) * ways / ways.std(0)
        corners = _corners(basis, rows, costs.astype(np.float32), _zeros(found.columns, rows, generator))
        barren = 0 if found.add(corners) else barren + 1
        starts -= len(rows)


def _zeros(known: np.ndarray, rows: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """(rows, starts): where a start's vector must be 0, so that it is not a column that is known to be 1 in its row."""
    zeros = np.zeros((known.shape[1], len(rows)), dtype=bool)
    members = [np.flatnonzero(column) for column in known]
    for start, row in enumerate(rows):
        for column in np.flatnonzero(known[:, row]):
            if generator.random() < RULED_OUT:
                zeros[generator.choice(members[column]), start] = True
        zeros[row, start] = False
    return zeros


def _corners(basis: np.ndarray, rows: np.ndarray, costs: np.ndarray, zeros: np.ndarray) -> np.ndarray:
    """(starts, rows): the vectors of least costs in the space and in [0, 1] that are 1 in one row each and 0 in some.

    Over-relaxed ADMM for these linear programs, rounded at the end. The costs lie in the space, as they have to.
    """
    own = rows, np.arange(len(rows))
    low, high = np.zeros(zeros.shape, dtype=np.float32), 1 - zeros.astype(np.float32)
    low[own] = 1
    like = basis @ basis[rows].T  # how much a row is like the own one
    y = np.clip(like / like[own], low, high)
    dual = np.zeros_like(y)
    for _ in range(STEPS):
        inside = basis @ (basis.T @ (y - dual)) - np.float32(PULL) * costs
        dual += AHEAD * inside + (1 - AHEAD) * y
        y = np.clip(dual, low, high)
        dual -= y
    return np.asarray(y.T > 0.5)


def _by_weight(columns: np.ndarray) -> np.ndarray:
    """The lightest first."""
    return columns[np.argsort(columns.sum(1), kind="stable")]


def _without_unions(columns: np.ndarray) -> np.ndarray:
    """The columns without those that are disjoint unions of lighter ones: they tell nothing more."""
    kept = list(_by_weight(columns))
    for place in range(len(kept) - 1, -1, -1):
        rest = kept[place].copy()
        for lighter in kept[:place][::-1]:
            if not (lighter & ~rest).any():
                rest &= ~lighter
        if not rest.any():
            del kept[place]
    return np.array(kept, dtype=bool).reshape(-1, columns.shape[1])


def _largest(known: np.ndarray) -> np.ndarray:
    """For every family of columns that exclude each other beyond chance: the rows that none of them covers."""
    rows = known.shape[1]
    heaviest = _by_weight(known)[::-1]
    rests = []
    for first in heaviest:
        union = first.copy()
        for column in heaviest:
            expected = column.sum() * union.sum() / rows
            if expected >= CHANCE and not (column & union).any():
                union |= column
        rests.append(~union)
    return np.array(rests, dtype=bool).reshape(-1, rows)
