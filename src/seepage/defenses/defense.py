"""What every defence file offers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from seepage.models import Learner, Parameters

# Parameters, inputs (clients, rows, width), targets (clients, rows), random numbers -> the gradient each client uses.
# Parameters and gradients have a leading client axis.
Gradients = Callable[[Parameters, Tensor, Tensor, torch.Generator], Parameters]


@dataclass(frozen=True, kw_only=True)
class Privacy:
    """What differential privacy promises one client for a whole run.

    Args:
        epsilon: infinite when nothing is promised.
        delta: of the promise.
        steps: noisy gradients the client computed.
        sampling_rate: share of the client's rows behind each of them.
    """

    epsilon: float
    delta: float
    steps: int
    sampling_rate: float


class Defense(Protocol):
    """Acts on local training (``gradients``), on what is sent (``protect``), or on both; here it does nothing.

    Everything has a leading client axis. A defence is known to the server; its random numbers are not.
    """

    def gradients(self, learner: Learner) -> Gradients | None:
        """How a client computes the gradient of a batch, at every local step; None for the plain one."""
        return None

    def protect(self, update: Parameters, random: torch.Generator) -> Parameters:
        """What is sent instead of the update."""
        return update

    def privacy(self, sampling_rate: float, steps: int) -> Privacy | None:
        """What is promised to a client after this many local steps; None if the defence promises nothing."""
        return None
