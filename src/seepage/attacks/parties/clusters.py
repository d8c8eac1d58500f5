"""Rows in as many groups as there are classes, and the groups named by their size."""

from __future__ import annotations

import numpy as np

from seepage._core import Streams

STARTS = 8
ROUNDS = 50


def clustered(features: np.ndarray, shares: np.ndarray, streams: Streams) -> np.ndarray:
    """(rows, classes) how near each row is to each class's group.

    Spectral clustering with the affinity (1 + cosine) / 2: it has low rank, so its eigenvectors are singular vectors of
    the features. k-means groups the rows there. The largest group is named as the most frequent class, and so on.

    Args:
        features: (rows, width).
        shares: (classes,) how frequent the classes are.
        streams: of k-means.
    """
    lengths = np.linalg.norm(features, axis=1, keepdims=True)
    unit = features / np.where(lengths > 0, lengths, 1.0)
    near = np.concatenate([np.ones((len(unit), 1)), unit], 1) / 2**0.5
    degrees = near @ near.sum(0)
    left, _, _ = np.linalg.svd(near / np.sqrt(np.maximum(degrees, 1e-12))[:, None], full_matrices=False)
    embedded = left[:, : len(shares)]
    size = np.linalg.norm(embedded, axis=1, keepdims=True)
    embedded = embedded / np.where(size > 0, size, 1.0)
    centres = _centres(embedded, len(shares), streams.numpy("clusters"))
    distances = np.linalg.norm(embedded[:, None] - centres, axis=2)
    counts = np.bincount(distances.argmin(1), minlength=len(shares))
    named = np.empty(len(shares), dtype=int)
    named[np.argsort(-shares, kind="stable")] = np.argsort(-counts, kind="stable")
    scores: np.ndarray = -distances[:, named]
    return np.asarray(scores - scores.mean(1, keepdims=True))


def _centres(points: np.ndarray, groups: int, generator: np.random.Generator) -> np.ndarray:
    """(groups, dimensions) k-means from several starts, the tightest kept."""
    best, least = points[:groups], np.inf
    for _ in range(STARTS):
        centres = _spread(points, groups, generator)
        for _ in range(ROUNDS):
            nearest = np.linalg.norm(points[:, None] - centres, axis=2).argmin(1)
            moved = np.stack(
                [points[nearest == g].mean(0) if (nearest == g).any() else centres[g] for g in range(groups)]
            )
            if np.allclose(moved, centres, atol=1e-9):
                break
            centres = moved
        loss = float((np.linalg.norm(points[:, None] - centres, axis=2).min(1) ** 2).sum())
        if loss < least:
            best, least = centres, loss
    return best


def _spread(points: np.ndarray, groups: int, generator: np.random.Generator) -> np.ndarray:
    """Starts far from each other, as k-means++ draws them."""
    chosen = [points[generator.integers(len(points))]]
    while len(chosen) < groups:
        apart = np.min([((points - each) ** 2).sum(1) for each in chosen], axis=0)
        total = apart.sum()
        chosen.append(points[generator.choice(len(points), p=apart / total if total > 0 else None)])
    return np.stack(chosen)
