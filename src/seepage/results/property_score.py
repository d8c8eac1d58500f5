"""How well was the share of a property told from models' weights? (the property-inference thesis, section 3.5)"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from seepage._core import InputError
from seepage.results.interval import Interval, bootstrap

BINS = 10  # of the calibration error, equally wide


@dataclass(frozen=True, kw_only=True, eq=False)
class PropertyScore:
    """Guessed classes beside the true ones, over target models.

    Args:
        accuracy: share of targets whose class is right, with a 95 % bootstrap interval over targets.
        mse: squared distance of class numbers, with an interval. A guess two classes off counts four times one.
        confusion: (classes, classes) targets by true class (row) and guessed class (column).
        most_frequent: accuracy of naming the most frequent true class each time.
        chance: accuracy of a blind guess, one over the classes.
        middle_mse: squared distance of the constant guess that is best at it.
    """

    accuracy: Interval
    mse: Interval
    confusion: np.ndarray
    most_frequent: float
    chance: float
    middle_mse: float


def property_score(truth: np.ndarray, guess: np.ndarray, classes: int) -> PropertyScore:
    """Score guessed classes against the true ones.

    Args:
        truth: (targets,) true classes, 0 to classes - 1.
        guess: (targets,) guessed classes.
        classes: how many there are.
    """
    _check_classes(truth, guess, classes)
    confusion = np.zeros((classes, classes), dtype=np.int64)
    np.add.at(confusion, (truth, guess), 1)
    right, off = (truth == guess).astype(np.float64), np.square(truth.astype(np.float64) - guess)
    accuracy, mse = bootstrap(right.tolist()), bootstrap(off.tolist())
    assert accuracy is not None
    assert mse is not None
    constants = np.square(truth[:, None].astype(np.float64) - np.arange(classes)).mean(0)
    return PropertyScore(
        accuracy=accuracy,
        mse=mse,
        confusion=confusion,
        most_frequent=float(confusion.sum(1).max() / len(truth)),
        chance=1 / classes,
        middle_mse=float(constants.min()),
    )


def calibration_error(sure: np.ndarray, right: np.ndarray, bins: int = BINS) -> float:
    """Expected calibration error: how far the sureness of the likeliest class is from how often it is right.

    Targets are sorted into equally wide bins of sureness; the gap of each bin is weighted by its targets (Guo et al.
    2017). Zero is honest. Few targets leave a gap by chance alone.

    Args:
        sure: (targets,) probability of the likeliest class.
        right: (targets,) whether it is the true one.
        bins: how many.
    """
    if sure.ndim != 1 or sure.shape != right.shape or not len(sure):
        raise InputError(f"Sureness has the shape {sure.shape}, and what is right {right.shape}; they must be alike.")
    if bool((sure < 0).any()) or bool((sure > 1 + 1e-4).any()):
        raise InputError("Sureness is a probability: between 0 and 1.")
    places = np.minimum((sure * bins).astype(np.int64), bins - 1)
    gaps = np.zeros(bins)
    np.add.at(gaps, places, right - sure)
    return float(np.abs(gaps).sum() / len(sure))


@dataclass(frozen=True, kw_only=True)
class ShareScore:
    """Estimated shares and their intervals, over target models.

    Args:
        error: mean distance of estimate and truth, with a 95 % bootstrap interval over targets.
        coverage: share of targets whose truth lies in its interval, with an interval of its own.
        width: mean width of the intervals.
        middle_error: mean distance of the constant estimate that is best at it, the median.
    """

    error: Interval
    coverage: Interval
    width: float
    middle_error: float


def share_score(truth: np.ndarray, estimate: np.ndarray, low: np.ndarray, high: np.ndarray) -> ShareScore:
    """Score estimated shares and their intervals.

    Args:
        truth, estimate: (targets,) shares.
        low, high: (targets,) ends of the intervals; an end counts as inside.
    """
    if not len(truth) or len({truth.shape, estimate.shape, low.shape, high.shape}) > 1 or truth.ndim != 1:
        shapes = ", ".join(str(each.shape) for each in (truth, estimate, low, high))
        raise InputError(f"Truth, estimate and both ends must be lists of one length, not empty; they are {shapes}.")
    if not all(np.isfinite(each).all() for each in (truth, estimate, low, high)):
        raise InputError("Shares and intervals hold values that are not finite numbers.")
    if bool((low > high).any()):
        raise InputError(f"{int((low > high).sum())} interval(s) end before they begin.")
    error, coverage = (
        bootstrap(np.abs(truth - estimate).tolist()),
        bootstrap(((low <= truth) & (truth <= high)).tolist()),
    )
    assert error is not None
    assert coverage is not None
    return ShareScore(
        error=error,
        coverage=coverage,
        width=float((high - low).mean()),
        middle_error=float(np.abs(truth - np.median(truth)).mean()),
    )


def _check_classes(truth: np.ndarray, guess: np.ndarray, classes: int) -> None:
    if classes < 2:
        raise InputError(f"There is {classes} class; at least 2 are needed.")
    if truth.ndim != 1 or truth.shape != guess.shape or not len(truth):
        raise InputError(
            f"True and guessed classes must be two lists of one length, not empty: {truth.shape}, {guess.shape}."
        )
    for name, values in (("true", truth), ("guessed", guess)):
        if values.dtype.kind not in "iu" or values.min() < 0 or values.max() >= classes:
            raise InputError(f"The {name} classes must be whole numbers from 0 to {classes - 1}.")
