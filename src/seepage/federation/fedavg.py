"""FedAvg: each client trains locally and sends the change; the server averages by the rows processed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import torch
from torch import Tensor

from seepage._core import InputError
from seepage.defenses import Defense
from seepage.federation.exposure import EVERY_POINT, Clock, Schedule, less_often
from seepage.federation.fedsgd import Computation, batches, check_batch, check_participation, sum_over
from seepage.federation.servers import MEAN, Server
from seepage.models import Learner, LocalTraining, Parameters
from seepage.models.local_clients import local_clients
from seepage.observation import PLAIN, Exchange


@dataclass(frozen=True, kw_only=True)
class FedAvg:
    """Federated averaging: clients train locally and send how their model changed.

    Args:
        batch_size: rows of one local step.
        local_rows: each client works on a fixed set of this many of its rows; None for all it has.
        local_batches: use only this many mini batches in a round; None for a whole pass.
        local_epochs: passes over the round's rows before sending.
        learning_rate: of the local steps. The profiling study does not state it; TabLeak uses 0.01.
        same_order: every local pass takes the rows in the order of the first one (the profiling study's public code);
            else they are shuffled anew (TabLeak).
        training: the local optimiser, and what belongs to its steps.
        participation: share of the clients that take part in a round, drawn anew each time.
        server: what the server does with the mean change.
        share_statistics: running statistics of BatchNorm in training mode are sent with the weights.
        exposure, schedule, fixed_batch: as in FedSGD.
    """

    batch_size: int = 32
    local_rows: int | None = 32
    local_batches: int | None = None
    local_epochs: int = 1
    learning_rate: float = 0.01
    same_order: bool = False
    training: LocalTraining = PLAIN
    participation: float = 1.0
    server: Server = MEAN
    share_statistics: bool = True
    exposure: float = 24.0
    schedule: Schedule = EVERY_POINT
    fixed_batch: bool = False

    name = "fedavg"

    def __post_init__(self) -> None:
        if self.local_epochs < 1:
            raise InputError(f"There are {self.local_epochs} local epochs; at least 1 is needed.")
        if self.local_batches is not None and self.local_batches < 1:
            raise InputError(f"There are {self.local_batches} local batches; at least 1 is needed.")
        check_participation(self.participation)
        if self.local_rows is not None and self.local_rows < self.batch_size:
            raise InputError(
                f"The batch size {self.batch_size} is larger than the {self.local_rows} local rows of each client."
            )

    def clock(self, sizes: Sequence[int]) -> Clock:
        """Rounds of one pass for each client (a fraction when a round makes several passes)."""
        check_batch(self.batch_size, sizes)
        if self.local_rows is not None and self.local_rows > min(sizes):
            raise InputError(
                f"There are {self.local_rows} local rows, but the smallest client has {min(sizes)}; use fewer, or all."
            )
        passes = [Fraction(self._available(n), self._per_round(n) * self.local_epochs) for n in sizes]
        return less_often(passes, self.participation)

    def work(self, rows: np.ndarray, generator: np.random.Generator) -> Iterator[np.ndarray]:
        """Which rows a client uses, round after round: (steps, batch) places.

        The first pass of a round uses the rows in the order they were drawn; every further pass shuffles them, or
        keeps their order.
        """
        local = rows if self.local_rows is None else generator.permutation(rows)[: self.local_rows]
        count = self._per_round(len(rows)) // self.batch_size
        stream = batches(local, self.batch_size, generator)
        while True:
            first = np.stack([next(stream) for _ in range(count)])
            further = range(self.local_epochs - 1)
            yield np.concatenate([first, *(self._again(first, generator) for _ in further)])

    def _again(self, first: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        """The batches of a further pass."""
        return first if self.same_order else generator.permutation(first.reshape(-1)).reshape(first.shape)

    def drawn_from(self, rows: int) -> int:
        """How many rows a client with this many draws its batches from."""
        return self.local_rows or rows

    def exchange(self, plan: np.ndarray) -> Exchange:
        """The rules of a round, as the server knows them."""
        return Exchange(
            protocol="fedavg",
            rows=plan.size // self.local_epochs,
            batch_size=self.batch_size,
            local_epochs=self.local_epochs,
            learning_rate=self.learning_rate,
            same_order=self.same_order,
            training=self.training,
        )

    def computation(self, learner: Learner, defense: Defense) -> Computation:
        """What the clients compute, for (clients, steps, batch, width) inputs.

        One step of all clients is recorded once and replayed for every local step, so a pass may be of any length.
        """
        return local_clients(learner, self.training, self.learning_rate, defense.gradients(learner))

    def aggregate(self, parameters: Parameters, updates: Sequence[Parameters], weights: Sequence[int]) -> Parameters:
        """Add the mean change, weighted by the rows each client processed."""
        total = sum(weights)
        shares, start = [], 0
        for update in updates:
            count = len(next(iter(update.values())))
            shares.append(torch.tensor(weights[start : start + count], dtype=torch.float32) / total)
            start += count

        def mean(name: str) -> Tensor:
            parts = [u[name] * s.view(-1, *[1] * (u[name].dim() - 1)) for u, s in zip(updates, shares, strict=True)]
            return sum_over(parts)

        return {name: value + mean(name) for name, value in parameters.items()}

    def _available(self, rows: int) -> int:
        """The client's effective size: whole batches of what it may use."""
        return (self.local_rows or rows) // self.batch_size * self.batch_size

    def _per_round(self, rows: int) -> int:
        """Rows behind one update."""
        whole = self._available(rows)
        return whole if self.local_batches is None else min(whole, self.local_batches * self.batch_size)
