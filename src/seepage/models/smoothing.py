"""A loss that takes labels for a little less than sure."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import torch
from torch import Tensor

from seepage.models.functional import Learner


@lru_cache(maxsize=16)
def smoothed(learner: Learner, share: float) -> Learner:
    """The learner whose loss spreads this share of every label over all classes; client and attacker use the same.

    Kept, because what is recorded for a learner is found again by the learner itself.
    """

    def criterion(outputs: Tensor, y: Tensor) -> Tensor:
        classes = outputs.shape[-1]
        if classes == 1:  # one logit, for the second of two classes
            return learner.loss_of_outputs(outputs, y.to(outputs.dtype) * (1 - share) + share / 2)
        # torch's one_hot looks at the values, which vmap cannot.
        sure = (y[..., None] == torch.arange(classes, device=y.device)).to(outputs.dtype)
        return learner.loss_of_outputs(outputs, sure * (1 - share) + share / classes)

    return replace(learner, criterion=criterion)
