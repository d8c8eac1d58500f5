"""Scores for classes: how attacks on labels answer."""

from __future__ import annotations

import numpy as np

from seepage._core import NotApplicable, Outcome
from seepage.observation import Claim
from seepage.observation.parties import GuestScene


def rarer_class(scene: GuestScene, score: np.ndarray, told: np.ndarray) -> Claim:
    """A claim from one score that is high for the rarer of two classes.

    Args:
        score: (rows,)
        told: (rows,) which rows the score is about.
    """
    rarer = int(np.argmin(scene.shares))
    scores = np.zeros((scene.rows, 2))
    scores[:, rarer], scores[:, 1 - rarer] = score, -score
    return claimed(scores, told)


def claimed(scores: np.ndarray, told: np.ndarray) -> Claim:
    """A claim about the labels of these rows."""
    return Claim(
        outcome=Outcome.OK,
        label_scores=np.where(told[:, None], scores, 0.0),
        labels=scores.argmax(1),
        determined=told,
        ordered=True,
    )


def check_two_classes(scene: GuestScene) -> None:
    """Stop where a single score cannot name the class."""
    if scene.classes != 2:
        raise NotApplicable(f"There are {scene.classes} classes; this attack tells two apart.")
