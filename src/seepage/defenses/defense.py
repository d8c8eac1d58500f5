"""What every defence file offers: one protocol for all studies."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from seepage._core import Streams
from seepage.models import Learner, Parameters
from seepage.models.recipe import Recipe
from seepage.models.stack import Stack
from seepage.observation import PLAIN_CHANNEL, Channel
from seepage.observation.vertical import VerticalUpdate
from seepage.results.facts import ThreatModel

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
    """Does something at one or several places of training; at each of them it does nothing unless it says so.

    Which studies a defence works in stands where it is registered. A defence is known to the attacker; its random
    numbers are not.
    """

    def model(self, learner: Learner, seed: int) -> Learner:
        """What everybody trains instead of this model; new weights are drawn with the seed."""
        return learner

    def gradients(self, learner: Learner) -> Gradients | None:
        """How a client computes the gradient of a batch, at every local step; None for the plain one."""
        return None

    def protect(self, update: Parameters, random: torch.Generator) -> Parameters:
        """What is sent instead of the update; everything has a leading client axis."""
        return update

    def averaged(self, update: Parameters, clients: int, random: torch.Generator) -> Parameters:
        """What the server averages instead of what it was sent, and has seen; everything has a leading client axis.

        Args:
            clients: whose updates are averaged, here and in other groups.
        """
        return update

    def channel(self) -> Channel:
        """What everybody may know of how updates are changed; the attacks made for defences read it."""
        return PLAIN_CHANNEL

    def told_rows(
        self, updates: Iterator[VerticalUpdate], people: int, secret: torch.Generator
    ) -> Iterator[VerticalUpdate]:
        """Vertical learning: the updates with the rows that the server is told are behind them."""
        return updates

    @property
    def renumbers(self) -> bool:
        """Vertical learning: whether the server's numbers of people are other people's."""
        return False

    def recipe(self, recipe: Recipe) -> Recipe:
        """How the owner of a whole model trains it."""
        return recipe

    def balance(self) -> tuple[float, float] | None:
        """Share of the property in the owner's training rows, and share of its rows that it trains on."""
        return None

    def release(self, models: Stack, streams: Streams) -> Stack:
        """What is handed over instead of trained models."""
        return models

    def in_message(self, kind: str, values: Tensor, random: torch.Generator) -> Tensor:
        """Vertical training: what is sent instead of a (rows, width) tensor of this kind (``observation/parties.py``).

        Guests ask it for intermediate results, the host for the gradients of fine-tuning.
        """
        return values

    def noise_on(self, kind: str) -> float:
        """Vertical training: deviation of the noise on each entry of this kind, if it is the same for all."""
        return 0.0

    @property
    def smoothing(self) -> float:
        """Vertical training: share of every label that the host's loss spreads over all classes."""
        return 0.0

    def amend(self, threat: ThreatModel) -> ThreatModel:
        """The threat model of somebody who meets this defence, and knows of it."""
        return threat.model_copy(
            update={
                "knows": (*threat.knows, "Which defence is used, and its settings."),
                "does_not_know": (*threat.does_not_know, "The random numbers of the defence."),
            }
        )

    def privacy(self, sampling_rate: float, steps: int) -> Privacy | None:
        """What is promised to a client after this many local steps; None if the defence promises nothing."""
        return None
