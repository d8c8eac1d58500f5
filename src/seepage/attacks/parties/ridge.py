"""Linear regression with few examples: how the host carries known rows over to all others."""

from __future__ import annotations

import numpy as np

SHRINKAGES = tuple(10.0**power for power in range(-4, 4))


def carried_over(features: np.ndarray, known: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Ridge regression from features of all rows to targets of the known ones, applied to all rows.

    The shrinkage is the one with the least error on known rows that are left out one by one, for each target its own.

    Args:
        features: (rows, width).
        known: (known,) places of the known rows.
        targets: (known, targets) of the known rows.

    Returns:
        (rows, targets)
    """
    deviation = features.std(0)
    varied = features[:, deviation > 1e-9]
    scaled = (varied - varied.mean(0)) / deviation[deviation > 1e-9]
    here, centre = scaled[known].mean(0), targets.mean(0)
    left, sizes, right = np.linalg.svd(scaled[known] - here, full_matrices=False)
    parts = left.T @ (targets - centre)  # (rank, targets)
    best, error = np.zeros((scaled.shape[1], targets.shape[1])), np.full(targets.shape[1], np.inf)
    for shrinkage in SHRINKAGES:
        kept = sizes**2 / (sizes**2 + shrinkage * len(known))
        leverage = np.minimum((left**2 * kept).sum(1) + 1 / len(known), 1 - 1e-6)
        missed = (targets - centre - left @ (kept[:, None] * parts)) / (1 - leverage)[:, None]
        errors = (missed**2).mean(0)
        weights = right.T @ ((sizes / (sizes**2 + shrinkage * len(known)))[:, None] * parts)
        better = errors < error
        best[:, better], error[better] = weights[:, better], errors[better]
    estimate: np.ndarray = centre + (scaled - here) @ best
    return estimate


def one_hot(labels: np.ndarray) -> np.ndarray:
    """(rows, classes)"""
    codes = np.unique(labels, return_inverse=True)[1]
    return np.eye(int(codes.max()) + 1)[codes]
