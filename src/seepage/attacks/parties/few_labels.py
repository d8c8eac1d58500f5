"""A classifier from few labels: how a guest carries known labels over to all rows."""

from __future__ import annotations

import numpy as np

from seepage._core import NotApplicable, Streams

STRENGTHS = (0.01, 0.1, 1.0, 10.0)
GROWTH = 2  # times as many rows are taken for labelled in each round
FOLDS = 4


def carried_labels(
    features: np.ndarray, known: np.ndarray, labels: np.ndarray, shares: np.ndarray, rounds: int, streams: Streams
) -> np.ndarray:
    """(rows, classes) log-probabilities of a logistic regression on few labels.

    Its strength is chosen by cross-validation on the known labels. In each of the rounds the surest rows of every class
    are taken for labelled, as many as the classes are frequent, and it is fitted again.

    Args:
        features: (rows, width).
        known: (known,) places of the rows whose labels are known.
        labels: (known,) their class codes.
        shares: (classes,) how frequent the classes are.
        rounds: of self-training; 0 for none.
    """
    from sklearn.linear_model import LogisticRegression  # takes a second to load

    if len(np.unique(labels)) < len(shares):
        raise NotApplicable("A guest that completes a model needs a label of every class.")
    deviation = features.std(0)
    x = ((features - features.mean(0)) / np.where(deviation > 1e-9, deviation, 1.0))[:, deviation > 1e-9]
    strength = _strength(x[known], labels, streams)
    model = LogisticRegression(C=strength, max_iter=500, class_weight="balanced").fit(x[known], labels)
    count = len(known)
    for _ in range(rounds):
        count = min(GROWTH * count, len(x) // 2)
        scores = model.predict_log_proba(x)
        places, taken = [known], [labels]
        for code, share in enumerate(shares):
            surest = np.argsort(-scores[:, code], kind="stable")[: max(1, round(count * share))]
            fresh = surest[~np.isin(surest, known)]
            places.append(fresh)
            taken.append(np.full(len(fresh), code))
        model = LogisticRegression(C=strength, max_iter=500, class_weight="balanced")
        model.fit(x[np.concatenate(places)], np.concatenate(taken))
    found: np.ndarray = np.maximum(model.predict_log_proba(x), -1e3)
    return found


def _strength(x: np.ndarray, labels: np.ndarray, streams: Streams) -> float:
    """The strength with the best likelihood of labels that were left out."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold, cross_val_score

    folds = min(FOLDS, int(np.bincount(labels)[np.unique(labels)].min()))
    if folds < 2:
        return 0.1
    cut = StratifiedKFold(folds, shuffle=True, random_state=streams.integer("folds") % 2**32)
    scores = [
        cross_val_score(LogisticRegression(C=each, max_iter=500), x, labels, cv=cut, scoring="neg_log_loss").mean()
        for each in STRENGTHS
    ]
    return STRENGTHS[int(np.argmax(scores))]
