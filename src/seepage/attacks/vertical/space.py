r"""What a linear layer cannot hide: the space that the columns of a message span.

A guest sends :math:`Z = X W^\top`. Mixing columns by :math:`W` changes every number of the message, but the columns of
:math:`[Z, 1]` span the same space as those of :math:`[X, 1]`, whatever :math:`W` is, as long as it has full rank.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from seepage._core import InputError

ROUNDING = float(np.finfo(np.float32).eps)  # of a message, relative to its largest direction
CLEAR = 10.0  # a direction of the columns stands this many roundings above nothing; the largest seen for none is 0.7
SLACK = 10.0  # times the rounding to expect; the largest seen for true columns is 0.6
FAR = 0.1  # no rounding explains a distance of this much: one wrong row moves a vector by about 1


@dataclass(frozen=True, eq=False)
class ColumnSpace:
    """The space of a message's columns, and how well it is known.

    Args:
        values: (rank,) the singular values of the message without its mean, largest first.
        basis: (rows, rank) orthonormal, every column of mean 0.
        rounding: the largest singular value that float32's rounding of the message may have.
    """

    values: np.ndarray
    basis: np.ndarray
    rounding: float

    @property
    def rows(self) -> int:
        return len(self.basis)

    @property
    def rank(self) -> int:
        """Dimensions without the constant."""
        return int(self.basis.shape[1])

    @property
    def with_constant(self) -> np.ndarray:
        """(rows, 1 + rank) orthonormal basis, the constant vector first."""
        return np.concatenate([np.full((self.rows, 1), self.rows**-0.5), self.basis], axis=1)

    def distance(self, vectors: np.ndarray) -> np.ndarray:
        """(n,) how far (n, rows) vectors are from the space, the constant vector included."""
        centred = vectors - vectors.mean(1, keepdims=True)
        outside: np.ndarray = np.linalg.norm(centred - (centred @ self.basis) @ self.basis.T, axis=1)
        return outside

    def tolerance(self, vectors: np.ndarray) -> np.ndarray:
        """(n,) the distance that the message's rounding explains.

        A vector is a combination of the message's columns, and every column brings its rounding: the weaker the
        directions that the vector needs, the larger.
        """
        if not self.rank:
            return np.zeros(len(vectors))
        weights = np.linalg.norm((vectors @ self.basis) / self.values, axis=1)
        explained: np.ndarray = np.minimum(SLACK * self.rounding * weights, FAR)
        return explained

    def holds(self, vectors: np.ndarray) -> np.ndarray:
        """(n,) whether (n, rows) vectors lie in the space as exactly as rounding lets one see."""
        return np.asarray(self.distance(vectors) <= self.tolerance(vectors))


def column_space(z: np.ndarray) -> ColumnSpace:
    """The column space of a message (rows, width)."""
    values = as_matrix(z, "The message")
    mean = values.mean(0)
    left, sizes, _ = np.linalg.svd(values - mean, full_matrices=False)
    # A large mean is rounded more coarsely than the little that varies around it.
    rounding = ROUNDING * max(float(sizes[0]), float(np.abs(mean).max()) * len(values) ** 0.5)
    rank = int((sizes > CLEAR * rounding).sum())
    return ColumnSpace(sizes[:rank], left[:, :rank], rounding)


def as_matrix(values: np.ndarray, what: str) -> np.ndarray:
    """The values as (rows, columns) float64, or one sentence about what is wrong with them."""
    array = np.asarray(values)
    if array.ndim != 2:
        raise InputError(f"{what} must be a matrix of rows and columns; it has the shape {array.shape}.")
    if not array.size:
        raise InputError(f"{what} is empty: {array.shape[0]} rows, {array.shape[1]} columns.")
    if array.dtype.kind not in "fiub":
        raise InputError(f"{what} must hold numbers; it holds {array.dtype}.")
    if not np.isfinite(array).all():
        raise InputError(f"{what} holds values that are not finite numbers.")
    return array.astype(np.float64)
