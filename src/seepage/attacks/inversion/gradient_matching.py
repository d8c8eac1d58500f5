"""Gradient matching with a cosine objective, as document 002 describes it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor
from torch.func import grad_and_value, vmap

from seepage._core import InputError, Outcome, Progress, Streams, silent
from seepage.data import Layout
from seepage.models import Learner, Parameters, Traced, fitting_threads
from seepage.observation import Claim, Exchange, Observation


@dataclass(frozen=True, kw_only=True)
class GradientMatching:
    r"""Find the rows whose update points where the observed one points.

    With :math:`u` the observed update and :math:`\hat u(x)` the update that rows :math:`x` would have caused,

    .. math:: \min_x \; 1 - \cos(u, \hat u(x)).

    The rows start as Gaussian noise in the model's input space and follow Adam with a linearly decaying step. The
    iterate of the lowest own loss is the answer. For FedAvg, :math:`\hat u` replays the local training. Categories
    behind an embedding are a softmax over logits that start at ``logit_scale`` times Gaussian noise.

    Args:
        steps: iterations.
        learning_rate: Adam's first step size.
        logit_scale: spread of the start of embedded categories.
        tolerance: the true rows have an own loss of zero up to float error; one above this at the end means that they
            were not found, and the outcome is ``budget_spent``.

    Example:
        >>> GradientMatching(steps=1000).steps
        1000

    References:
        Geiping et al., Inverting Gradients, NeurIPS 2020.
        Nilsson et al., Profiling privacy preservation, 2026 (the set-up).
    """

    steps: int = 10_000
    learning_rate: float = 0.06
    logit_scale: float = 5.0
    tolerance: float = 1e-6

    def __post_init__(self) -> None:
        if self.steps < 1 or self.learning_rate <= 0:
            raise InputError(f"{self.steps} steps at rate {self.learning_rate}: both must be above 0.")

    def __call__(
        self, observations: Sequence[Observation], streams: Streams, *, progress: Progress = silent
    ) -> list[Claim]:
        usable = [index for index, observation in enumerate(observations) if observation.finite]
        claims = [
            Claim(outcome=Outcome.NOT_APPLICABLE, note="The update is zero or holds NaN or infinity.")
            for _ in observations
        ]
        if usable:
            solved = self._solve([observations[index] for index in usable], streams, progress)
            for index, claim in zip(usable, solved, strict=True):
                claims[index] = claim
        return claims

    def _solve(self, observations: list[Observation], streams: Streams, progress: Progress) -> list[Claim]:
        first = observations[0]
        count, rows, layout = len(observations), first.exchange.rows, first.layout
        generator = torch.Generator().manual_seed(streams.integer("start"))
        x = torch.randn(count, rows, layout.width, generator=generator)
        if layout.embedded:
            x[..., layout.numeric :] *= self.logit_scale
        step = recorded_descent(first.learner, layout, first.exchange, _shared(observations))
        fixed = _stacked(observations)
        state = (
            x,
            torch.zeros_like(x),
            torch.zeros_like(x),
            x,
            torch.full((count,), torch.inf, dtype=torch.float64),
        )
        with torch.no_grad(), fitting_threads(count * (first.learner.size + rows * layout.width)):
            for number in range(1, self.steps + 1):
                rate = self.learning_rate * (1 - (number - 1) / self.steps)
                # Adam's bias corrections, folded into two numbers.
                size, floor = rate / (1 - 0.9**number), (1 - 0.999**number) ** -0.5
                state = step(*state, torch.tensor([size, floor]), *fixed)
                progress("attack", number, self.steps)
        best, losses = as_inputs(state[3], layout), state[4]
        return [self._claim(best[index], float(losses[index])) for index in range(count)]

    def _claim(self, rows: Tensor, loss: float) -> Claim:
        if not math.isfinite(loss):
            return Claim(outcome=Outcome.DIVERGED)
        outcome = Outcome.OK if loss <= self.tolerance else Outcome.BUDGET_SPENT
        return Claim(outcome=outcome, rows=rows.numpy(), loss=loss)


Objective = Callable[[Tensor, Parameters, Tensor, Tensor], Tensor]  # variables, parameters, direction, labels


@lru_cache(maxsize=8)
def recorded_descent(learner: Learner, layout: Layout, exchange: Exchange, shared: bool) -> Traced:
    """One step for observations of this kind; kept, because the points of a training run are attacked one by one."""
    return Traced(descent(matching_loss(learner, layout, exchange), shared=shared))


def matching_loss(learner: Learner, layout: Layout, exchange: Exchange) -> Objective:
    """1 - cosine between the update of free variables and the observed direction, for one observation."""

    def loss(x: Tensor, parameters: Parameters, direction: Tensor, labels: Tensor) -> Tensor:
        inputs = as_inputs(x, layout)
        if exchange.protocol == "fedsgd":
            simulated = learner.gradient(parameters, inputs, labels)
        else:
            batches, targets = replayed(inputs, exchange), replayed(labels, exchange)
            simulated = learner.local_training(parameters, batches, targets, exchange.learning_rate)
        flat = torch.cat([simulated[name].flatten() for name in parameters])
        # Reduced in double precision, as in document 002: near the end 1 - cosine is close to float32's resolution.
        dot = (flat * direction).sum(dtype=torch.float64)
        length = (flat * flat).sum(dtype=torch.float64)
        return 1 - dot * torch.rsqrt(length + 1e-60)

    return loss


def as_inputs(x: Tensor, layout: Layout) -> Tensor:
    """Free variables to model inputs: as they are, or a softmax per block where categories are embedded."""
    if not layout.embedded or not layout.sizes:
        return x
    numbers, rest = x[..., : layout.numeric], x[..., layout.numeric :]
    return torch.cat([numbers, *(block.softmax(-1) for block in torch.split(rest, list(layout.sizes), dim=-1))], dim=-1)


def replayed(rows: Tensor, exchange: Exchange) -> Tensor:
    """The rows as the sequence of local batches: (steps, batch, ...).

    NOTE[DIFF] a client shuffles its rows anew in every local epoch and does not tell how; the replay keeps one order.
    """
    batches = rows.reshape(-1, exchange.batch_size, *rows.shape[1:])
    return torch.cat([batches] * exchange.local_epochs)


def descent(objective: Objective, *, shared: bool) -> Callable[..., tuple[Tensor, ...]]:
    """One Adam step for all observations at once, keeping each one's best iterate.

    State: variables, two moments, best variables, best losses. Then [step size, floor], and what stays fixed:
    parameters (``shared`` by all observations or stacked), directions of the updates, labels.
    """
    slopes = vmap(grad_and_value(objective), in_dims=(0, None if shared else 0, 0, 0))

    def step(
        x: Tensor, m: Tensor, v: Tensor, best: Tensor, lowest: Tensor, sizes: Tensor,
        parameters: Parameters, directions: Tensor, labels: Tensor,
    ) -> tuple[Tensor, ...]:  # fmt: skip
        slope, loss = slopes(x, parameters, directions, labels)
        better = loss < lowest
        best = torch.where(better[:, None, None], x, best)
        lowest = torch.where(better, loss, lowest)
        m = torch.lerp(slope, m, 0.9)
        v = torch.lerp(slope * slope, v, 0.999)
        x = x - sizes[0] * m / (v.sqrt() * sizes[1] + 1e-8)
        return x, m, v, best, lowest

    return step


def _shared(observations: Sequence[Observation]) -> bool:
    return all(observation.parameters is observations[0].parameters for observation in observations)


def _stacked(observations: Sequence[Observation]) -> tuple[Parameters, Tensor, Tensor]:
    """Parameters, directions and labels with a leading observation axis (parameters only where they differ)."""
    first = observations[0]
    parameters = first.parameters
    if not _shared(observations):
        parameters = {name: torch.stack([o.parameters[name] for o in observations]) for name in first.parameters}
    updates = torch.stack([torch.cat([o.update[name].flatten() for name in first.parameters]) for o in observations])
    directions = updates / updates.double().norm(dim=1, keepdim=True).float()
    # Unknown labels: the first class, or the mean of a standardised regression target; never optimised (document 002).
    dummy = torch.zeros(first.exchange.rows, dtype=torch.float32 if first.learner.task == "regression" else torch.int64)
    labels = torch.stack([dummy if o.labels is None else o.labels for o in observations])
    return parameters, directions, labels
