"""How the owner of a model trains it: the settings of stacked training."""

from __future__ import annotations

import math
from dataclasses import dataclass

from seepage._core import InputError


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How one network is built and trained. The defaults are the thesis's.

    Weights start as Xavier's uniform ones, biases as ``torch.nn.Linear``'s; the optimiser is Adam with torch's betas,
    the loss the negative log-likelihood.

    Args:
        hidden: neurons of the hidden layers.
        epochs: passes over the rows.
        batch_size: rows of a step; the last batch of an epoch may be smaller.
        rate: of Adam.
        slope: of the leaky ReLU below zero.
        clip: DP-SGD: the longest that a row's gradient may be; None clips nothing.
        noise: DP-SGD: deviation of the noise on a batch's summed gradient, in clips.
    """

    hidden: tuple[int, ...] = (32, 16, 8)
    epochs: int = 1
    batch_size: int = 64
    rate: float = 1e-3
    slope: float = 0.01
    clip: float | None = None
    noise: float = 0.0

    def __post_init__(self) -> None:
        if not self.hidden or min(self.hidden) < 1:
            raise InputError(f"The hidden layers are {self.hidden}; at least one layer of at least 1 neuron is needed.")
        if self.epochs < 1 or self.batch_size < 1:
            raise InputError(f"There are {self.epochs} epochs of batches of {self.batch_size}; both must be 1 or more.")
        if not (0 < self.rate < math.inf and 0 < self.slope <= 1):
            raise InputError(
                f"The rate is {self.rate} and the slope {self.slope}; both must be positive, the slope <= 1."
            )
        if self.clip is not None and not 0 < self.clip < math.inf:
            raise InputError(f"The clipping norm is {self.clip:g}; it must be above 0.")
        if not 0 <= self.noise < math.inf:
            raise InputError(f"The noise multiplier is {self.noise:g}; it must be 0 or above.")
        if self.noise and self.clip is None:
            raise InputError(f"The noise multiplier is {self.noise:g}, but noise needs a clipping norm; set clip too.")
