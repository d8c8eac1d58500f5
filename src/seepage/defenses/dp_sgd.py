"""DP-SGD: every row's gradient is clipped, and noise covers what one row can change."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace
from functools import lru_cache

import torch
from torch import Tensor

from seepage._core import InputError
from seepage.defenses.defense import Defense, Gradients, Privacy
from seepage.models import (
    Factors,
    Learner,
    Parameters,
    Traced,
    activations,
    factored_gradient,
    linear_calls,
    parameter_name,
)
from seepage.models.recipe import Recipe
from seepage.observation import Channel

MOST = 1e6  # noise multiplier beyond which nothing is looked for
MEMORY = 50_000_000  # numbers of per-row gradients held at once: 200 MB


@dataclass(frozen=True, kw_only=True)
class DPSGD(Defense):
    r"""Differentially private SGD, in every local step of every client.

    The gradient of a batch of B rows is replaced by

    .. math:: \tilde g = \frac 1 B \Big( \sum_i g_i \min\big(1, \tfrac{C}{\lVert g_i \rVert}\big)
              + \mathcal N(0, (\sigma C)^2 I) \Big)

    with :math:`g_i` the gradient of row i alone. A FedSGD client sends it; a FedAvg client takes its local steps with
    it. Weights of classes multiply a row's gradient before it is clipped.

    Guarantees:
        :math:`(\varepsilon, \delta)`-differential privacy of each client's rows (one row more or less) towards a server
        that sees all its updates of the run, by the Rényi accountant of Opacus. The accountant assumes that batches are
        drawn by Poisson sampling (every row is in a batch independently, with the sampling rate) and that every
        gradient is released. Here batches come from a shuffled pass and have a fixed size, as in most code: the stated
        epsilon is the usual approximation, not a theorem about shuffled batches. Updates that are computed once more
        for ``--fixed-batch`` are not counted.

    Args:
        clip: C, the largest norm a row's gradient may have.
        noise: sigma, the noise multiplier; 0 clips only and promises nothing.
        delta: of the stated guarantee.

    Example:
        >>> round(DPSGD(noise=1.0).privacy(sampling_rate=0.01, steps=100).epsilon, 1)
        1.2

    References:
        Abadi et al., Deep Learning with Differential Privacy, CCS 2016; Mironov et al., Rényi Differential Privacy of
        the Sampled Gaussian Mechanism, 2019; Yousefpour et al., Opacus, 2021.
    """

    clip: float = 1.0
    noise: float = 1.0
    delta: float = 1e-5

    def __post_init__(self) -> None:
        if not 0 < self.clip < math.inf:
            raise InputError(f"The clipping norm is {self.clip}; it must be above 0.")
        if not 0 <= self.noise < math.inf:
            raise InputError(f"The noise multiplier is {self.noise}; it must be 0 or above.")
        if not 0 < self.delta < 1:
            raise InputError(f"Delta is {self.delta}; it must be between 0 and 1.")

    def channel(self) -> Channel:
        """Rows shortened to a known norm, and noise of a known deviation on their sum."""
        return Channel(row_clip=self.clip, row_noise=self.noise * self.clip)

    def gradients(self, learner: Learner) -> Gradients:
        """The noisy mean of clipped gradients."""
        if learner.batch_statistics:
            raise InputError(
                "DP-SGD clips the gradient of each row, and BatchNorm in training mode mixes the rows of a batch, so "
                "there is none; use LayerNorm, or BatchNorm with stored statistics."
            )
        dropout = learner.has_noise
        clipped = Traced(
            lambda p, x, y: clipped_sums(learner, p, x, y, self.clip, noisy=dropout), steady=learner.vectorised
        )

        def noisy(parameters: Parameters, x: Tensor, y: Tensor, random: torch.Generator) -> Parameters:
            def covered(total: Tensor) -> Tensor:
                noise = torch.randn(total.shape, generator=random, dtype=total.dtype)
                return (total + self.noise * self.clip * noise) / x.shape[1]

            linear_calls(learner, x.shape[-1])  # tried out before a step is recorded
            return {name: covered(total) for name, total in clipped(parameters, x, y).items()}

        return noisy

    def recipe(self, recipe: Recipe) -> Recipe:
        """The same with clipped and noisy steps (``models/stacked_privacy.py``)."""
        return replace(recipe, clip=self.clip, noise=self.noise)

    def privacy(self, sampling_rate: float, steps: int) -> Privacy:
        """Epsilon at ``delta`` after these steps."""
        spent = epsilon(self.noise, sampling_rate, steps, self.delta)
        return Privacy(epsilon=spent, delta=self.delta, steps=steps, sampling_rate=sampling_rate)


def clipped_sums(
    learner: Learner, parameters: Parameters, x: Tensor, y: Tensor, clip: float, *, noisy: bool = False
) -> Parameters:
    """The sum over rows of gradients clipped to this norm, for each client: everything has a leading client axis.

    A row's gradient of a linear layer is a product of two vectors (of a few, with several tokens): its norm and the
    clipped sum come from these, so that it is never multiplied out.
    """
    calls = linear_calls(learner, x.shape[-1])

    def loss(parameters: Parameters, x: Tensor, y: Tensor) -> Tensor:
        outputs = learner.outputs(parameters, x[None], noisy=noisy)
        value = learner.loss_of_outputs(outputs, y[None])
        if learner.task == "binary" and outputs.shape[-1] == 2:  # the mean over one row loses its weight
            value = value * (1 + (learner.positive_weight - 1) * y)
        return value

    def one_row(parameters: Parameters, x: Tensor, y: Tensor) -> tuple[Factors, Parameters]:
        def of(parameters: Parameters) -> Tensor:
            return loss(parameters, x, y)

        return factored_gradient(learner, calls, parameters, x[None], y[None], of=of, noisy=noisy)

    def one_client(parameters: Parameters, x: Tensor, y: Tensor) -> Parameters:
        rows = learner.mapped(one_row, in_dims=(None, 0, 0), randomness="different")
        factors, dense = rows(parameters, x, y)
        biased = {name: parameter_name(name, "bias") in parameters for name in factors}
        squares = [value.flatten(1).square().sum(1) for value in dense.values()]
        squares += [_squares(*pair, biased=biased[name]) for name, pair in factors.items()]
        norms = torch.stack(squares).sum(0).sqrt()
        shares = (clip / (norms + 1e-6)).clamp(max=1.0)  # as Opacus does
        sums = {name: torch.tensordot(shares, value, dims=1) for name, value in dense.items()}
        for name, (slopes, inputs) in factors.items():
            kept = (slopes * shares[:, None, None]).flatten(0, 1)
            sums[parameter_name(name, "weight")] = kept.T @ inputs.flatten(0, 1)
            if biased[name]:
                sums[parameter_name(name, "bias")] = kept.sum(0)
        return {name: sums[name] for name in parameters}

    clients = learner.mapped(one_client, randomness="different")
    multiplied = sum(learner.initial()[parameter_name(name, "weight")].numel() for name in calls)
    held = learner.size - multiplied + activations(learner, x.shape[-1])
    together = max(1, MEMORY // (x.shape[0] * held))
    parts = zip(torch.split(x, together, dim=1), torch.split(y, together, dim=1), strict=True)
    sums = [clients(parameters, *part) for part in parts]
    return {name: torch.stack([part[name] for part in sums]).sum(0) for name in parameters}


def _squares(slopes: Tensor, inputs: Tensor, *, biased: bool) -> Tensor:
    """(rows,) squared norms of gradients that are sums over tokens of slopes (rows, tokens, out) and inputs."""
    if slopes.shape[1] == 1:
        return slopes.square().sum((1, 2)) * (inputs.square().sum((1, 2)) + biased)
    return ((slopes @ slopes.mT) * (inputs @ inputs.mT + float(biased))).sum((1, 2)).clamp(min=0)


@lru_cache
def epsilon(noise: float, sampling_rate: float, steps: int, delta: float) -> float:
    """The privacy spent, by Opacus' Rényi accountant; infinite without noise."""
    if noise == 0:
        return math.inf
    from opacus.accountants.analysis import rdp  # takes seconds to load

    # A wider range of orders than Opacus' own: with little or much noise the best one lies outside of it.
    orders = [1 + x / 100 for x in range(1, 10)] + [1 + x / 10 for x in range(1, 100)] + list(range(12, 64))
    orders += [64, 128, 256, 512, 1024]
    spent = rdp.compute_rdp(q=sampling_rate, noise_multiplier=noise, steps=steps, orders=orders)
    with warnings.catch_warnings():  # the best order may be the last one: the bound is then loose, and still true
        warnings.simplefilter("ignore", UserWarning)
        return max(0.0, float(rdp.get_privacy_spent(orders=orders, rdp=spent, delta=delta)[0]))


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
