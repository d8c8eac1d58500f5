"""DP-SGD for vertical learning: rows are clipped where gradients are computed, noise is added where they are sent."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from seepage._core import InputError
from seepage.defenses.defense import Privacy
from seepage.defenses.dp_sgd import DPSGD, clipped_sums, epsilon
from seepage.models import Learner, Parameters

MOST = 1e6  # noise multiplier beyond which nothing is looked for


@dataclass(frozen=True, kw_only=True)
class ClippedNoise:
    r""":class:`DPSGD` of the batches of vertical learning, with document 001's clipping norm of 3 (Table 11).

    Every row's gradient is clipped to C before the batch's mean is taken, and the mean of K rows gets noise of
    :math:`\mathcal N(0, (\sigma C / K)^2)` before it is sent. In vertical learning the norm of a row's gradient is a
    sum over the workers, so they can clip together. Train with ``private(learner)``, and defend with this object:

        ``protocol.stream(noise.private(learner), x, y, batches, streams, defend=noise)``

    Clipping the batch's mean gradient instead, as is sometimes done, is not this. One row can then turn the clipped
    mean by up to 2C whatever K is: for the same promise its noise has to be :math:`2 \sigma C`, 2K times of what is
    added here.

    Guarantees:
        (ε, δ)-differential privacy of a row (there or not) towards the server, by the accountant of :class:`DPSGD`.
        **The server chooses the batches**, so no randomness of sampling protects a row from it, and ``privacy`` counts
        every batch a row is in with a sampling rate of 1. Whoever does not know the batches sees less:
        ``DPSGD(clip=..., noise=...).privacy(K / N, batches)``. No promise holds for a plain learner's gradients.

    Args:
        clip: C, the largest norm a row's gradient may have.
        noise: σ, the noise multiplier; :func:`noise_for` finds it for an epsilon.
        batch_size: K.
        delta: of the stated guarantee.

    References:
        Abadi et al., Deep Learning with Differential Privacy, CCS 2016; document 001, appendix G.3.
    """

    clip: float = 3.0
    noise: float = 1.0
    batch_size: int = 40
    delta: float = 1e-5

    def __post_init__(self) -> None:
        DPSGD(clip=self.clip, noise=self.noise, delta=self.delta)  # checks them
        if self.batch_size < 1:
            raise InputError(f"The batch size is {self.batch_size}; it must be at least 1.")

    def private(self, learner: Learner) -> Learner:
        """The same learner; the gradients of its batches are means of clipped rows."""
        return RowClipped(learner.module, learner.task, learner.positive_weight, self.clip)

    def __call__(self, gradient: Parameters, generator: torch.Generator) -> Parameters:
        """The gradient of a batch of clipped rows, with noise."""
        size = float(torch.stack([value.norm() for value in gradient.values()]).norm())
        if size > self.clip * 1.001:
            raise InputError(
                f"A mean gradient has a norm of {size:.3g} and its rows were to be clipped to {self.clip}: "
                "train with the learner that 'private' returns."
            )
        deviation = self.noise * self.clip / self.batch_size
        return {
            name: value + deviation * torch.randn(value.shape, generator=generator, dtype=value.dtype)
            for name, value in gradient.items()
        }

    def privacy(self, batches: int) -> Privacy:
        """What is promised to a row that is in this many batches, towards a server that knows which."""
        spent = epsilon(self.noise, 1.0, batches, self.delta)
        return Privacy(epsilon=spent, delta=self.delta, steps=batches, sampling_rate=1.0)


@dataclass(frozen=True, eq=False)
class RowClipped(Learner):
    """A learner that clips rows in the gradients of batches; everything else, ``gradient`` too, is as it was."""

    clip: float = 3.0

    def gradients(self, parameters: Parameters, x: Tensor, y: Tensor, *, noisy: bool = False) -> Parameters:
        """Of every batch, the mean of its rows' clipped gradients."""
        each = {name: value.expand(len(x), *value.shape) for name, value in parameters.items()}
        sums = clipped_sums(self, each, x, y, self.clip, noisy=noisy)
        return {name: value / x.shape[1] for name, value in sums.items()}

    def to(self, device: str) -> Learner:
        """The same learner on another device; it still clips."""
        return replace(self, module=super().to(device).module)

    def double(self) -> Learner:
        """The same learner in float64; it still clips."""
        return replace(self, module=super().double().module)


def noise_for(target: float, batches: int, *, delta: float = 1e-5, sampling_rate: float = 1.0) -> float:
    """The smallest noise multiplier (to 1 in 1,000) that keeps epsilon at this target.

    Args:
        target: epsilon.
        batches: that a row is in, if the adversary knows them; with a sampling rate, all batches of the run.
        sampling_rate: 1 towards a server that chooses the batches.
    """
    if not 0 < target < math.inf:
        raise InputError(f"The target epsilon is {target}; it must be above 0.")
    low, high = 0.0, 1.0
    while epsilon(high, sampling_rate, batches, delta) > target:
        low, high = high, 2 * high
        if high > MOST:
            raise InputError(f"No noise keeps epsilon at {target} over {batches} batches.")
    while high - low > 1e-3 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if epsilon(middle, sampling_rate, batches, delta) <= target else (middle, high)
    return high
