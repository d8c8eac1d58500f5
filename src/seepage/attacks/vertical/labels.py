r"""What a guest reads of the host's labels in the gradients that it gets back during fine-tuning.

With cross-entropy of a binary task the gradient of row :math:`i` is :math:`(p_i - y_i)\,J_i`: the prediction's error
times how the logit reacts to the message. Two things leak (Li et al. 2022, "Label leakage and protection in two-party
split learning"): the errors of the two classes have different signs, so their gradients point in opposite directions as
far as the :math:`J_i` are alike (for a linear head they are equal, and the sign is the label); and a model that has
learnt the classes' frequencies, but is not sure yet, errs more on the rarer class, so its gradients are longer.

The guest has no labels, so it cannot tell which side is which class. Both scores are oriented by what it can see: **a
high score means the rarer class**. The task must be binary; the gradients do not say so, the guest has to know it.
Gradients of one step belong together: the model moves between steps.
"""

from __future__ import annotations

import numpy as np

from seepage._core import InputError
from seepage.attacks.vertical.space import as_matrix


def norm_score(gradients: np.ndarray) -> np.ndarray:
    """How long is each row's gradient? Long ones are the rarer class.

    Args:
        gradients: (rows, width) of the loss by the guest's messages.

    Returns:
        (rows,) score; it says little at the first steps, and when the classes are equally frequent.
    """
    lengths: np.ndarray = np.linalg.norm(as_matrix(gradients, "The gradient"), axis=1)
    return lengths


def direction_score(gradients: np.ndarray, *, example: int | None = None) -> np.ndarray:
    """To which of two opposite sides does each row's gradient point?

    The cosine with the leading direction of all gradients of length 1. Positive is the side with fewer rows (of two
    equal ones, the side of the longer gradients), taken for the rarer class.

    Args:
        gradients: (rows, width) of the loss by the guest's messages.
        example: place of a row that the guest knows to be of the wanted class; then its side is positive instead.

    Returns:
        (rows,) score in [-1, 1]; 0 for a row without a gradient.
    """
    values = as_matrix(gradients, "The gradient")
    if example is not None and not 0 <= example < len(values):
        raise InputError(f"The example must be a place from 0 to {len(values) - 1}; it is {example}.")
    lengths = np.linalg.norm(values, axis=1)
    directions = values / np.where(lengths > 0, lengths, 1.0)[:, None]
    _, axes = np.linalg.eigh(directions.T @ directions)
    score: np.ndarray = np.clip(directions @ axes[:, -1], -1.0, 1.0)
    if example is not None:
        return score if score[example] >= 0 else -score
    more, fewer = int((score > 0).sum()), int((score < 0).sum())
    longer = lengths[score > 0].sum() < lengths[score < 0].sum()
    return -score if more > fewer or (more == fewer and longer) else score
