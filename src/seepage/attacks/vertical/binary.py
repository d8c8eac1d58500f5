r"""Which yes-or-no columns does a guest hold? Found in its messages, without knowing anything of its model.

The columns of :math:`[Z, 1]` span the same space :math:`V` as those of the guest's encoding (``space.py``). A binary
feature, or one entry of a one-hot block, is a vector of zeros and ones in it. A space of few dimensions holds none by
chance among many rows, so each one that is found is a fact about the guest's rows.

All vectors of :math:`V` with entries in [0, 1] form a polytope, and those of zeros and ones are corners of it. A linear
program walks to corners: **the lightest vector that is 1 in row i** is nearly always the rarest category of that row.
Hundreds of rows are solved at once as one tensor by alternating directions (ADMM); a step is a projection on :math:`V`.
Rows that must be 0 rule out what was found before. What is left of :math:`V` besides the vectors found holds the
guest's numbers, and balanced columns if some are missing: **the vector that goes farthest in a direction left** finds
those. At last, categories that exclude each other more than chance allows belong to one column, and the rows that none
of them covers are its largest category.

Whatever a search proposes is only listed if it lies in :math:`V` as exactly as float32 lets one see.
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


def binary_columns(z: np.ndarray, *, starts: int = 2000, streams: Streams) -> BinaryColumns:
    """Find the zeros-and-ones columns behind a guest's messages.

    Guarantees:
        Every listed column lies in the column space of the messages up to float32's rounding. It need not be one entry
        of one column: "red or blue" is one of the same kind, and so is a category without the rows of a rarer one that
        lies inside it. A row with a category of its own says nothing about its other columns, and is listed as 0 there.

    Args:
        z: (rows, width) messages of one batch, or of all rows if BatchNorm used its running statistics; at least twice
            as many rows as independent columns.
        starts: how many searches are made at most; they end early when nothing new turns up.
        streams: of the search.
    """
    if starts < 1:
        raise InputError(f"The search needs at least one start; {starts} were asked for.")
    space = column_space(z)
    if space.rows < 2 * (space.rank + 1):
        raise InputError(
            f"{space.rows} rows are too few to tell columns from chance: the messages have {space.rank} independent "
            f"columns, so give at least {2 * (space.rank + 1)} rows."
        )
    found = _Found(space)
    if space.rank:
        generator = streams.numpy("binary columns")
        basis = space.with_constant.astype(np.float32)
        _search(found, basis, starts, generator)
        found.add(_largest(found.columns))
    order = np.argsort(found.columns.sum(1), kind="stable")
    columns = found.columns[order]
    return BinaryColumns(columns=columns.astype(np.uint8), residual=space.distance(columns.astype(np.float64)))


class _Found:
    """The columns that were found so far: each verified, none twice, at most half of it ones."""

    def __init__(self, space: ColumnSpace) -> None:
        self.space = space
        self.columns = np.zeros((0, space.rows), dtype=bool)
        self._seen: set[bytes] = set()

    def add(self, candidates: np.ndarray) -> int:
        """Take those of the (n, rows) candidates that are new and true; how many these were."""
        light = lightened(candidates)
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


def lightened(columns: np.ndarray) -> np.ndarray:
    """The columns, or their complements where those have fewer ones (of two equal, the one without the first row)."""
    ones, rows = columns.sum(1), columns.shape[1]
    heavy = (2 * ones > rows) | ((2 * ones == rows) & columns[:, 0])
    return np.asarray(columns ^ heavy[:, None])


def _search(found: _Found, basis: np.ndarray, starts: int, generator: np.random.Generator) -> None:
    """Linear programs, by rows and by what is left, until they find nothing new."""
    barren = 0
    left = found.left()
    while starts > 0 and barren < BARREN and left.shape[1]:
        # A row with a rare category that is still missing stands out in what is left.
        weight = (left**2).sum(1) + 1 / len(left)
        rows = generator.choice(len(left), size=min(BATCH, starts, len(left)), p=weight / weight.sum(), replace=False)
        lightest = _lightest(basis, rows, _zeros(found.columns, rows, generator))
        barren = 0 if found.add(lightest) else barren + 1
        starts -= len(rows)
        left = found.left()
        sides = _farthest(basis, left @ generator.normal(size=(left.shape[1], BATCH // 4)))
        sides = sides[found.space.holds(sides.astype(np.float64))]
        if found.add(_rests(sides, found.columns)):
            barren, left = 0, found.left()


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


def _lightest(basis: np.ndarray, rows: np.ndarray, zeros: np.ndarray) -> np.ndarray:
    """(starts, rows): the vectors of least sum that are 1 in one row each, and 0 in some."""
    own = rows, np.arange(len(rows))
    low, high = np.zeros(zeros.shape, dtype=np.float32), 1 - zeros.astype(np.float32)
    low[own] = 1
    near = basis @ basis[rows].T  # how much a row is like the own one
    return _corners(basis, near / near[own], np.ones((1, 1), dtype=np.float32), low, high)


def _farthest(basis: np.ndarray, directions: np.ndarray) -> np.ndarray:
    """(starts, rows): the vectors that go farthest in these (rows, starts) directions of the space."""
    ways = (directions / directions.std(0)).astype(np.float32)
    zero, one = np.zeros((1, 1), dtype=np.float32), np.ones((1, 1), dtype=np.float32)
    return _corners(basis, (ways + 1) / 2, -ways, zero, one)


def _corners(basis: np.ndarray, y: np.ndarray, costs: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """(starts, rows): the linear programs' solutions, rounded: least costs in the space and between the bounds.

    Over-relaxed ADMM from (rows, starts). The costs lie in the space, as they have to.
    """
    y = np.clip(y, low, high)
    dual = np.zeros_like(y)
    for _ in range(STEPS):
        inside = basis @ (basis.T @ (y - dual)) - np.float32(PULL) * costs
        dual += AHEAD * inside + (1 - AHEAD) * y
        y = np.clip(dual, low, high)
        dual -= y
    return np.asarray(y.T > 0.5)


def _rests(sides: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Both sides of two-valued vectors without the known columns that lie inside them: unions are nothing new."""
    order = np.argsort(-known.sum(1), kind="stable")
    rests = np.concatenate([sides, ~sides])
    for column in known[order]:
        inside = ~(column & ~rests).any(1)
        rests[inside] &= ~column
    return rests


def _largest(known: np.ndarray) -> np.ndarray:
    """For every family of columns that exclude each other beyond chance: the rows that none of them covers."""
    rows = known.shape[1]
    order = np.argsort(-known.sum(1), kind="stable")
    rests = []
    for first in order:
        union = known[first].copy()
        for column in known[order]:
            expected = column.sum() * union.sum() / rows
            if expected >= CHANCE and not (column & union).any():
                union |= column
        rests.append(~union)
    return np.array(rests, dtype=bool).reshape(-1, rows)
