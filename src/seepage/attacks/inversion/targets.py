"""Labels as variables: the last columns of every row's variables."""

from __future__ import annotations

import torch
from torch import Tensor

from seepage.models import Learner


def label_columns(learner: Learner, width: int) -> int:
    """How many variables a label takes: one number, one logit, or one per class."""
    with torch.no_grad():
        return int(learner.outputs(learner.initial(), torch.zeros(1, width)).shape[-1])


def split_off(x: Tensor, extra: int, learner: Learner) -> tuple[Tensor, Tensor | None]:
    """The variables of the rows, and labels: a number, the probability of class 1, or of every class."""
    if not extra:
        return x, None
    rows, labels = torch.split(x, [x.shape[-1] - extra, extra], dim=-1)
    if learner.task == "regression":
        return rows, labels[..., 0]
    if extra == 1:
        return rows, labels[..., 0].sigmoid()
    return rows, labels.softmax(-1)
