"""What the host brings to a training: labels as codes or standardised numbers, and weights of rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from sklearn.utils import check_array, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite
from torch import Tensor

from seepage._core import InputError
from seepage.data.schema import LARGEST
from seepage.federation.vertical.objective import Objective
from seepage.federation.vertical.refusals import checked_by_scikit_learn


@dataclass(frozen=True, kw_only=True, eq=False)
class Labels:
    """The host's part of a training.

    Args:
        values: (rows,) class codes or numbers.
        outputs: of the host's last layer: classes, or 1.
        objective: the loss, with the weights of rows.
    """

    values: Tensor
    outputs: int
    objective: Objective


@dataclass(frozen=True, kw_only=True)
class Standard:
    """Mean and deviation of a target, so that it is learned in units of its own spread."""

    mean: float
    scale: float

    @staticmethod
    def of(values: np.ndarray, weights: np.ndarray | None) -> Standard:
        """As the rows weigh. A target that is the same everywhere, or in no row, has a deviation of 1 here."""
        if not len(values):
            return Standard(mean=0.0, scale=1.0)  # why there is no row is told where tables are read
        mean = float(np.average(values, weights=weights))
        scale = float(np.sqrt(np.average((values - mean) ** 2, weights=weights)))
        return Standard(mean=mean, scale=scale if scale > 0 else 1.0)

    def encode(self, values: np.ndarray) -> Tensor:
        """(rows,) standardised."""
        return torch.from_numpy(((values - self.mean) / self.scale).astype(np.float32))

    def decode(self, outputs: Tensor) -> np.ndarray:
        """(rows,) in the target's own units, from (rows, 1) outputs of the host."""
        values: np.ndarray = outputs[:, 0].double().numpy() * self.scale + self.mean
        return values


def read_classes(y: Any, estimator: str) -> tuple[np.ndarray, np.ndarray]:
    """The classes in order, and the code of each row."""
    labels = _one_column(y, estimator)
    with checked_by_scikit_learn():
        assert_all_finite(labels, input_name="y")
        check_classification_targets(labels)
        classes, codes = np.unique(labels, return_inverse=True)
    return classes, codes


def read_numbers(y: Any, estimator: str) -> np.ndarray:
    """(rows,) the target as numbers."""
    labels = _one_column(y, estimator)
    if labels.dtype.kind in "USM" or any(isinstance(value, str) for value in labels[:1]):
        raise InputError(f"The target of {estimator} must be numbers; for classes there is TabVFLClassifier.")
    with checked_by_scikit_learn():
        values: np.ndarray = check_array(labels, dtype=np.float64, ensure_2d=False, input_name="y")
    _check_size(values, "The target")
    return values


def read_weights(sample_weight: Any, rows: int) -> np.ndarray | None:
    """(rows,) weights as they were given, or None."""
    if sample_weight is None:
        return None
    with checked_by_scikit_learn():
        weights: np.ndarray = check_array(
            sample_weight, dtype=np.float64, ensure_2d=False, allow_nd=True, input_name="sample_weight"
        )
    if weights.shape != (rows,):
        raise InputError(
            f"sample_weight has the shape {weights.shape}; there are {rows} rows, so it must be ({rows},)."
        )
    _check_size(weights, "sample_weight")
    if (weights < 0).any():
        raise InputError(f"sample_weight has {int((weights < 0).sum())} negative weight(s); they must be 0 or more.")
    if not weights.any():
        raise InputError("Every sample_weight is zero; at least 3 rows must count.")
    return weights


def weighing(weights: np.ndarray | None, rows: np.ndarray) -> np.ndarray:
    """Those of the rows that count: a weight of 0 is a row that is not there."""
    return rows if weights is None else rows[weights[rows] > 0]


def scaled(weights: np.ndarray | None, train: np.ndarray) -> Tensor | None:
    """Weights that are 1 in the mean of the training rows, so that a rate means the same with and without them."""
    if weights is None or not len(train):
        return None
    return torch.from_numpy((weights / weights[train].mean()).astype(np.float32))


def _check_size(values: np.ndarray, what: str) -> None:
    large = int((np.abs(values) > LARGEST).sum())
    if large:
        raise InputError(f"{what} has {large} number(s) beyond {LARGEST:g}, which models cannot compute with.")


def _one_column(y: Any, estimator: str) -> np.ndarray:
    if y is None:
        raise InputError(f"{estimator} requires y to be passed, but the target y is None.")
    with checked_by_scikit_learn():
        column: np.ndarray = column_or_1d(np.asarray(y), warn=True)
    return column
