"""FedSGD: each client sends the gradient of one mini batch a round; the server takes the unweighted mean."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import torch
from torch import Tensor

from seepage._core import InputError
from seepage.defenses import Defense
from seepage.federation.exposure import EVERY_POINT, Clock, Schedule, less_often
from seepage.federation.servers import MEAN, Server
from seepage.models import Learner, Parameters, Traced
from seepage.models.local_clients import apart, for_each
from seepage.observation import Exchange

# Parameters, inputs, targets, random numbers of a defence -> updates
Computation = Callable[[Parameters, Tensor, Tensor, torch.Generator], Parameters]


@dataclass(frozen=True, kw_only=True)
class FedSGD:
    """Plain federated gradient descent.

    Args:
        batch_size: rows behind each gradient.
        learning_rate: of the server.
        exposure: the run ends when the least exposed client has gone through its data this often.
        schedule: when updates are attacked.
        fixed_batch: attack the same batch of each client at every point (its first one), which separates the effect of
            training from that of the batch.
        participation: share of the clients that take part in a round, drawn anew each time.
        server: what the server does with its step along the mean gradient.
        share_statistics: running statistics of BatchNorm in training mode are sent with the weights.
    """

    batch_size: int = 8
    learning_rate: float = 0.01
    exposure: float = 25.0
    schedule: Schedule = EVERY_POINT
    fixed_batch: bool = False
    participation: float = 1.0
    server: Server = MEAN
    share_statistics: bool = True

    name = "fedsgd"

    def __post_init__(self) -> None:
        check_participation(self.participation)

    def clock(self, sizes: Sequence[int]) -> Clock:
        """Rounds of one pass for each client."""
        check_batch(self.batch_size, sizes)
        return less_often([Fraction(size // self.batch_size) for size in sizes], self.participation)

    def work(self, rows: np.ndarray, generator: np.random.Generator) -> Iterator[np.ndarray]:
        """Which rows a client uses, round after round: (1, batch) places."""
        for batch in batches(rows, self.batch_size, generator):
            yield batch[None]

    def drawn_from(self, rows: int) -> int:
        """How many rows a client with this many draws its batches from."""
        return rows

    def exchange(self, plan: np.ndarray) -> Exchange:
        """The rules of a round, as the server knows them."""
        return Exchange(protocol="fedsgd", rows=plan.size, batch_size=plan.size)

    def computation(self, learner: Learner, defense: Defense) -> Computation:
        """What the clients compute, for (clients, 1, batch, width) inputs."""
        private = defense.gradients(learner)
        plain = Traced(
            lambda p, x, y: learner.gradients(p, x[:, 0], y[:, 0], noisy=learner.has_noise), steady=learner.vectorised
        )
        mixing = Traced(_with_statistics(learner), steady=learner.vectorised)

        def gradients(parameters: Parameters, x: Tensor, y: Tensor, random: torch.Generator) -> Parameters:
            if learner.batch_statistics:
                moved: Parameters = mixing(*apart(learner, parameters), x[:, 0], y[:, 0])
                return moved
            if private is None:
                result: Parameters = plain(parameters, x, y)
                return result
            return private(for_each(len(x), parameters), x[:, 0], y[:, 0], random)

        return gradients

    def aggregate(self, parameters: Parameters, updates: Sequence[Parameters], weights: Sequence[int]) -> Parameters:
        """One step of the server along the mean gradient. ``weights`` do not count here."""
        rate = -self.learning_rate / sum(len(next(iter(update.values()))) for update in updates)
        return {
            name: torch.add(value, sum_over([update[name] for update in updates]), alpha=rate)
            for name, value in parameters.items()
        }


def _with_statistics(learner: Learner) -> Callable[..., Parameters]:
    """Gradients of all clients, and how their running statistics move."""

    def one(weights: Parameters, buffers: Parameters, x: Tensor, y: Tensor) -> Parameters:
        slopes, seen = learner.gradient_and_statistics(weights, x, y, noisy=learner.has_noise)
        return slopes | {name: value - buffers[name] for name, value in learner.moved(buffers, seen).items()}

    return learner.mapped(one, (None, None, 0, 0), randomness="different")


def check_participation(share: float) -> None:
    """A share of the clients."""
    if not 0 < share <= 1:
        raise InputError(f"The participation is {share:g}; it is a share of the clients, above 0 and at most 1.")


def check_batch(batch_size: int, sizes: Sequence[int]) -> None:
    """A batch must fit the smallest client."""
    if batch_size < 1:
        raise InputError(f"The batch size is {batch_size}; it must be at least 1.")
    if batch_size > min(sizes):
        raise InputError(
            f"The batch size {batch_size} is larger than the smallest client, which has {min(sizes)} rows; "
            "use smaller batches or fewer clients."
        )


def batches(rows: np.ndarray, size: int, generator: np.random.Generator) -> Iterator[np.ndarray]:
    """Mini batches for ever: each pass is a new order, and its incomplete last batch is left out."""
    while True:
        order = generator.permutation(rows)
        yield from order[: len(rows) // size * size].reshape(-1, size)


def sum_over(parts: Sequence[Tensor]) -> Tensor:
    """The sum over clients of updates that come in groups."""
    total = parts[0].sum(0)
    for part in parts[1:]:
        total = total + part.sum(0)
    return total
