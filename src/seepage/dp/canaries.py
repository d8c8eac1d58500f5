"""One private training with canary rows: what a server that sees every update can tell of who took part."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.func import grad

from seepage._core import InputError, Streams
from seepage.dp.lower_bounds import one_run
from seepage.dp.mechanisms import Sampled
from seepage.models import Learner, Parameters

LARGEST = 200_000_000  # numbers of gradients of rows held at once
MOST_ROWS = 4_000  # estimating who is in a batch takes the third power of them
LEAST = 1e-4  # deviation of the noise that the server counts with at least: gradients are single precision
Progress = Callable[[int, int], None]


@dataclass(frozen=True, kw_only=True)
class Training:
    """DP-SGD of one client, every noisy gradient seen by the server.

    Args:
        clip, noise: of every row's gradient, and the noise multiplier. A broken mechanism is tried with ``lowered``.
        batch_size: expected; batches are drawn by Poisson sampling.
        epochs: passes over the rows in all.
        learning_rate: of plain SGD.
        lowered: by which the noise is divided in truth, while ``noise`` is what is claimed.
    """

    clip: float = 1.0
    noise: float = 1.0
    batch_size: int = 32
    epochs: int = 1
    learning_rate: float = 0.1
    lowered: float = 1.0

    def __post_init__(self) -> None:
        for name in ("clip", "batch_size", "epochs", "learning_rate", "lowered"):
            if not 0 < getattr(self, name) < math.inf:
                raise InputError(f"{name} is {getattr(self, name)}; it must be above 0.")
        if not 0 <= self.noise < math.inf:
            raise InputError(f"The noise multiplier is {self.noise}; it must be 0 or above.")


@dataclass(frozen=True, kw_only=True)
class Audited:
    """What one run showed.

    Args:
        lower: epsilon at least, at 95 %.
        upper: epsilon at most, by the accountant, if the mechanism is what it says.
        delta: of both.
        canaries, guesses, right: coins thrown, guessed, and guessed right.
        rows, steps, rate: of the training.
    """

    lower: float
    upper: float
    delta: float
    canaries: int
    guesses: int
    right: int
    rows: int
    steps: int
    rate: float


def audit_rows(
    learner: Learner,
    x: Tensor,
    y: Tensor,
    training: Training,
    streams: Streams,
    *,
    canaries: int = 200,
    delta: float = 1e-5,
    progress: Progress | None = None,
) -> Audited:
    """Train once with canaries in and out by fair coins, and bound epsilon from below.

    Canaries are rows of the table with another row's target, so that training wants to move for each of them. The
    server knows all rows, all models and all settings. It does not know the coins, the noise, or who is in a batch.

    Args:
        learner: the model.
        x, y: encoded rows (rows, width) and targets; the first ``canaries`` of a shuffle become canaries.
        training: how it is trained.
        streams: of random numbers.

    Guarantees:
        The lower bound is above the true epsilon in at most 5 % of runs. A low one proves nothing.

    Example:
        >>> from seepage.models import Linear, make_learner
        >>> draw = Streams(0).numpy("rows")
        >>> x = torch.from_numpy(draw.normal(size=(400, 30)).astype("float32"))
        >>> y = torch.from_numpy((draw.random(400) < 0.5).astype("int64"))
        >>> learner = make_learner(Linear(), 30, (), "binary", 2, seed=0)
        >>> found = audit_rows(learner, x, y, Training(noise=1.0), Streams(1), canaries=100)
        >>> found.lower <= found.upper
        True

    References:
        Steinke, Nasr and Jagielski, Privacy Auditing with One (1) Training Run, NeurIPS 2023; the scores are theirs for
        an auditor who sees gradients, with who is in a batch estimated for all rows at once.
    """
    _check(learner, len(x), canaries)
    x, y = _with_canaries(x, y, canaries, streams)
    coins = streams.numpy("coins").random(canaries) < 0.5
    rate = min(1.0, training.batch_size / len(x))
    steps = max(1, round(training.epochs / rate))
    scores = _scores(learner, (x, y), coins, training, streams, steps, progress or (lambda done, total: None))
    lower, guesses, right = one_run(scores, coins, delta)
    upper = Sampled(multiplier=training.noise, rate=rate, steps=steps).epsilon(delta)
    return Audited(
        lower=lower, upper=upper, delta=delta, canaries=canaries, guesses=guesses, right=right,
        rows=len(x), steps=steps, rate=rate,
    )  # fmt: skip


def _check(learner: Learner, rows: int, canaries: int) -> None:
    """Stop before any work at what cannot be."""
    if not 1 <= canaries < rows:
        raise InputError(
            f"There are to be {canaries} canaries among {rows} rows; at least 1 and fewer than rows are needed."
        )
    if rows > MOST_ROWS or rows * learner.size > LARGEST:
        raise InputError(
            f"{rows:,} rows of a model with {learner.size:,} numbers are too many for this audit; at most "
            f"{min(MOST_ROWS, LARGEST // learner.size):,} rows fit."
        )
    if learner.batch_statistics:
        raise InputError("BatchNorm in training mode mixes the rows of a batch, so that no row has a gradient to clip.")


def _with_canaries(x: Tensor, y: Tensor, canaries: int, streams: Streams) -> tuple[Tensor, Tensor]:
    """Rows in another order; the first get targets of other rows that differ from theirs where that is possible."""
    draw = streams.numpy("canaries")
    order = torch.from_numpy(draw.permutation(len(x)))
    x, y = x[order], y[order].clone()
    for place in range(canaries):
        others = torch.nonzero(y[canaries:] != y[place]).flatten()
        if len(others):
            y[place] = y[canaries + int(others[int(draw.integers(len(others)))])]
    return x, y


def _scores(
    learner: Learner,
    table: tuple[Tensor, Tensor],
    coins: np.ndarray,
    training: Training,
    streams: Streams,
    steps: int,
    progress: Progress,
) -> np.ndarray:
    """For each canary, how much more likely what was seen is with it than without it, summed over steps."""
    x, y = table
    canaries, rate = len(coins), min(1.0, training.batch_size / len(x))
    here = torch.from_numpy(np.concatenate([coins, np.ones(len(x) - canaries, dtype=bool)]))
    draw, noise = streams.numpy("batches"), torch.Generator().manual_seed(streams.integer("noise"))
    parameters, of_rows = learner.initial(), _row_gradients(learner, training.clip)
    deviation = training.noise * training.clip / training.lowered
    server = _Server(canaries=canaries, rate=rate, deviation=max(deviation, LEAST * training.clip))
    for step in range(steps):
        every = of_rows(parameters, x, y)  # (rows, parameters)
        batch = torch.from_numpy(draw.random(len(x)) < rate) & here
        released = every[batch].sum(0) + deviation * torch.randn(every.shape[1], generator=noise)
        server.sees(every, released)
        parameters = _stepped(parameters, released / max(1.0, rate * len(x)), training.learning_rate)
        progress(step + 1, steps)
    return server.scores()


@dataclass(eq=False)
class _Server:
    """What a server makes of noisy sums: who is in a batch, estimated for all rows at once.

    Each row is taken for in by a normal draw of the right mean and variance; what was thought of a canary beforehand is
    then taken off again, so that its estimate is its presence and noise. Where everybody is in every batch, presence is
    the same in all steps, and they are estimated together.
    """

    canaries: int
    rate: float
    deviation: float

    def __post_init__(self) -> None:
        self._precision = torch.zeros(self.canaries, self.canaries, dtype=torch.float64)
        self._evidence = torch.zeros(self.canaries, dtype=torch.float64)
        self._total = torch.zeros(self.canaries, dtype=torch.float64)

    def sees(self, every: Tensor, released: Tensor) -> None:
        """One step: clipped gradients of all rows, which the server can compute, and the noisy sum."""
        chances = torch.full((len(every),), self.rate)
        chances[: self.canaries] /= 2  # a fair coin, and then the draw of the batch
        rest = released - chances @ every
        if self.rate < 1:
            spread = (chances * (1 - chances)).double()
            self._total += self._told(_products(every, self.deviation), every @ rest, spread, chances.double())
        else:
            marks = every[: self.canaries]
            self._precision += _products(marks, self.deviation)
            self._evidence += (marks @ rest).double()

    def scores(self) -> np.ndarray:
        """(canaries,) logarithms of likelihood ratios: with the canary against without it."""
        if self.rate == 1:
            half = torch.full((self.canaries,), 0.5, dtype=torch.float64)
            self._total = self._told(self._precision, self._evidence, half**2, half)
        return np.asarray(torch.nan_to_num(self._total, nan=0.0).numpy())

    def _told(self, precision: Tensor, evidence: Tensor, spread: Tensor, chances: Tensor) -> Tensor:
        covariance = torch.linalg.inv(precision / self.deviation**2 + torch.diag(1 / spread))
        offset = covariance @ evidence.double() / self.deviation**2
        own = (1 / covariance.diagonal() - 1 / spread).clamp(min=1e-12)  # what is new about a row
        value = offset / covariance.diagonal() / own + chances  # presence, with noise of variance 1/own
        ratio: Tensor = ((value - 0.5) * own)[: self.canaries]
        if self.rate == 1:
            return ratio
        stays = torch.full_like(ratio, math.log1p(-self.rate))
        told: Tensor = torch.logaddexp(stays, math.log(self.rate) + ratio)
        return told


def _products(rows: Tensor, deviation: float) -> Tensor:
    """Inner products of all rows; double precision only where so little noise is that it matters."""
    return (rows @ rows.T).double() if deviation > 0.05 else rows.double() @ rows.double().T


def _row_gradients(learner: Learner, clip: float) -> Callable[[Parameters, Tensor, Tensor], Tensor]:
    """Clipped gradients of single rows, flat: (rows, parameters)."""

    def loss(parameters: Parameters, row: Tensor, target: Tensor) -> Tensor:
        return learner.loss_of_outputs(learner.outputs(parameters, row[None]), target[None])

    each = learner.mapped(grad(loss), in_dims=(None, 0, 0))

    def of_rows(parameters: Parameters, x: Tensor, y: Tensor) -> Tensor:
        flat = torch.cat([value.flatten(1) for value in each(parameters, x, y).values()], dim=1)
        shortened: Tensor = flat * (clip / (flat.norm(dim=1, keepdim=True) + 1e-6)).clamp(max=1.0)
        return shortened

    return of_rows


def _stepped(parameters: Parameters, slope: Tensor, rate: float) -> Parameters:
    moved, start = {}, 0
    for name, value in parameters.items():
        moved[name] = value - rate * slope[start : start + value.numel()].reshape(value.shape)
        start += value.numel()
    return moved
