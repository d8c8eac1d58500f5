r"""What a linear layer cannot hide: the space that the columns of a message span.

A guest sends :math:`Z = X W^\top`. Mixing columns by :math:`W` changes every number of the message, but the columns of
:math:`[Z, 1]` span the same space as those of :math:`[X, 1]`, whatever :math:`W` is, as long as it has full rank.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from seepage._core import InputError

ROUNDING = 10 * float(np.finfo(np.float32).eps)  # relative to the largest direction; the largest seen is 15 times less
SLACK = 1.5  # times the largest singular value that noise has, about
FAR = 0.5  # nothing explains a distance of this much: one wrong row moves a vector by about 1


@dataclass(frozen=True, eq=False)
class ColumnSpace:
    """The space of a message's columns, and how well it is known.

    Args:
        values: (rank,) the singular values of the message without its mean, largest first.
        basis: (rows, rank) orthonormal, every column of mean 0.
        error: the largest singular value that float32's rounding of the message, and noise, may have.
    """

    values: np.ndarray
    basis: np.ndarray
    error: float

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
        """(n,) the distance that the message's error explains.

        A vector is a combination of the message's columns, and every column brings its error: the weaker the directions
        that the vector needs, the larger.
        """
        if not self.rank:
            return np.zeros(len(vectors))
        weights = np.linalg.norm((vectors @ self.basis) / self.values, axis=1)
        explained: np.ndarray = np.minimum(self.error * weights, FAR)
        return explained

    def holds(self, vectors: np.ndarray) -> np.ndarray:
        """(n,) whether (n, rows) vectors lie in the space as exactly as the error lets one see."""
        return np.asarray(self.distance(vectors) <= self.tolerance(vectors))


def column_space(z: np.ndarray, noise: float = 0.0) -> ColumnSpace:
    """The column space of a message (rows, width) whose entries have noise of this deviation, known to the reader."""
    values = as_matrix(z, "The message")
    if not 0 <= noise < np.inf:
        raise InputError(f"The noise must be a deviation, 0 or more; it is {noise}.")
    mean = values.mean(0)
    left, sizes, _ = np.linalg.svd(values - mean, full_matrices=False)
    # A large mean is rounded more coarsely than the little that varies around it.
    rounding = ROUNDING * max(float(sizes[0]), float(np.abs(mean).max()) * len(values) ** 0.5)
    error = max(rounding, SLACK * noise * sum(size**0.5 for size in values.shape))
    rank = int((sizes > error).sum())
    return ColumnSpace(sizes[:rank], left[:, :rank], error)


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
