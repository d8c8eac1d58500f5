"""What a horizontal protocol must say, and what clients do in one of its rounds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from seepage.defenses import Defense
from seepage.federation.exposure import Clock, Schedule
from seepage.federation.fedsgd import Computation
from seepage.federation.servers import Server
from seepage.models import Learner, Parameters
from seepage.observation import Exchange


class FederatedProtocol(Protocol):
    """What a horizontal protocol must say; the simulation does the rest."""

    @property
    def name(self) -> str: ...
    @property
    def exposure(self) -> float: ...
    @property
    def schedule(self) -> Schedule: ...
    @property
    def fixed_batch(self) -> bool: ...
    @property
    def participation(self) -> float: ...
    @property
    def server(self) -> Server: ...
    @property
    def share_statistics(self) -> bool: ...

    def clock(self, sizes: Sequence[int]) -> Clock: ...
    def work(self, rows: np.ndarray, generator: np.random.Generator) -> Iterator[np.ndarray]: ...
    def drawn_from(self, rows: int) -> int: ...
    def exchange(self, plan: np.ndarray) -> Exchange: ...
    def computation(self, learner: Learner, defense: Defense) -> Computation: ...
    def aggregate(
        self, parameters: Parameters, updates: Sequence[Parameters], weights: Sequence[int]
    ) -> Parameters: ...


Plans = dict[int, np.ndarray]  # for each client that takes part, (steps, batch) places of its rows


@dataclass(frozen=True)
class Round:
    """The clients' work in one round: groups of clients with equal shapes, and what each group sent."""

    groups: list[list[int]]
    updates: list[Parameters]

    def of_client(self, client: int) -> Parameters:
        """One client's update."""
        for group, update in zip(self.groups, self.updates, strict=True):
            if client in group:
                return {name: value[group.index(client)].clone() for name, value in update.items()}
        raise KeyError(client)
