"""Labels that are a little less than sure, in the loss of those who train."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from seepage._core import InputError
from seepage.defenses.computing import check_rows_apart, client_gradients
from seepage.defenses.defense import Defense, Gradients
from seepage.models import Learner, Parameters
from seepage.models.smoothing import smoothed
from seepage.observation import Channel


@dataclass(frozen=True, kw_only=True)
class LabelSmoothing(Defense):
    """The loss of a client, or of the host in vertical training, takes a share of every label as spread over classes.

    Guarantees:
        None. It makes gradients of sure rows less alike; the sign of a gradient stays the label's. Rows are read as
        without it by an attacker who knows of it.

    Args:
        share: from 0 to below 1.

    References:
        Szegedy et al., Rethinking the Inception Architecture, CVPR 2016, for the loss.

    Example:
        >>> LabelSmoothing(share=0.2).smoothing
        0.2
    """

    share: float = 0.2

    def __post_init__(self) -> None:
        if not 0 <= self.share < 1:
            raise InputError(f"The share of a label that is spread is {self.share}; it must be from 0 to below 1.")

    def channel(self) -> Channel:
        """A known share."""
        return Channel(smoothing=self.share)

    def gradients(self, learner: Learner) -> Gradients:
        """The gradient of the smoothed loss."""
        check_rows_apart(learner, "Label smoothing")
        if learner.task == "regression" or learner.criterion is not None:
            raise InputError("Label smoothing spreads classes; it needs a classification with the task's own loss.")
        slopes = client_gradients(learner, partial(smoothed(learner, self.share).loss, noisy=learner.has_noise))

        def spread(parameters: Parameters, x: Tensor, y: Tensor, random: torch.Generator) -> Parameters:
            return slopes(parameters, x, y)

        return spread

    @property
    def smoothing(self) -> float:
        return self.share
