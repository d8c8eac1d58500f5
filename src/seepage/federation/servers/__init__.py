"""What the server does with the mean change of a round."""

from __future__ import annotations

from typing import Protocol

from seepage.federation.servers.adaptive import Adaptive, fedadam, fedyogi
from seepage.federation.servers.mean import Mean
from seepage.federation.servers.momentum import Momentum
from seepage.models import Parameters

Memory = tuple[Parameters, ...]


class Server(Protocol):
    """Settings of a server that can step."""

    def fresh(self, weights: Parameters) -> Memory:
        """What it keeps before the first round."""
        ...

    def step(self, weights: Parameters, change: Parameters, memory: Memory) -> tuple[Parameters, Memory]:
        """The next model, and what is kept."""
        ...


MEAN = Mean()

__all__ = ["MEAN", "Adaptive", "Mean", "Memory", "Momentum", "Server", "fedadam", "fedyogi"]
