"""How well scores for classes tell labels: what attacks on labels are judged by."""

from __future__ import annotations

import numpy as np

from seepage._core import InputError

GUESSED = 0.5  # of any score that knows nothing


def label_auc(scores: np.ndarray, y: np.ndarray) -> float:
    """The mean over classes of the chance that a row of the class has a higher score for it than a row of another.

    For two classes and scores that are each other's negative this is the ROC AUC; 0.5 is guessing, however frequent the
    classes are.

    Args:
        scores: (rows, classes).
        y: (rows,) class codes. Classes that no row has are left out.
    """
    labels = np.asarray(y)
    if scores.ndim != 2 or labels.shape != scores.shape[:1]:
        raise InputError(f"Scores and labels do not belong together: {scores.shape} and {labels.shape}.")
    if not np.isfinite(scores).all():
        raise InputError("The scores hold values that are not finite numbers.")
    present = [code for code in range(scores.shape[1]) if 0 < (labels == code).sum() < len(labels)]
    if not present:
        raise InputError("The leak of labels cannot be measured: all rows are of one class.")
    return float(np.mean([_auc(scores[:, code], labels == code) for code in present]))


def _auc(score: np.ndarray, positive: np.ndarray) -> float:
    from scipy.stats import rankdata  # takes a second to load

    count = int(positive.sum())
    above = rankdata(score)[positive].sum() - count * (count + 1) / 2
    return float(above / (count * (len(positive) - count)))
