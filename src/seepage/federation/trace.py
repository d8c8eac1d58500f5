"""What a protocol returns: what was shared and what was true, as two values that never meet in one object."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from seepage.data import Encoder, Statistics, Table
from seepage.defenses import Privacy
from seepage.observation import Observation


@dataclass(frozen=True, kw_only=True)
class Truth:
    """The secret of one client: only the evaluation may hold it.

    Args:
        rows: the attacked rows.
        encoder, statistics: how this client encoded them; the scale is the client's own.
        client_rows: all rows of the client, for its marginals and deviations.
    """

    rows: Table
    encoder: Encoder
    statistics: Statistics
    client_rows: Table


@dataclass(frozen=True, kw_only=True)
class Moment:
    """When something happened: the round (from 1) and how often the clients had gone through their data by then."""

    name: str
    round: int
    exposures: tuple[float, ...]

    @property
    def exposure(self) -> dict[str, float]:
        return {
            "min": float(min(self.exposures)),
            "mean": float(np.mean(self.exposures)),
            "max": float(max(self.exposures)),
        }


@dataclass(frozen=True, kw_only=True)
class AttackPoint:
    """All clients' updates of one attacked round, before the server averaged them.

    Args:
        moment: the attacked round.
        trained: what the attacked model had seen when it was sent out.
        clients: who took part.
        observations, truths: what was shared and what was true, client by client.
        validation: scores of the attacked model.
        watched: rounds that the attacker has of every client, this one and those before.
    """

    moment: Moment
    trained: Moment
    clients: tuple[int, ...]
    observations: tuple[Observation, ...]
    truths: tuple[Truth, ...]
    validation: Mapping[str, float]
    watched: int = 1


@dataclass(frozen=True, kw_only=True)
class Trace:
    """A federated training run.

    Args:
        points: its attack points in order.
        rounds: how long it was.
        best, best_validation, test: the checkpoint of the lowest validation loss, and its scores.
        privacy: what a defence promises each client for the whole run; empty if it promises nothing.
    """

    points: tuple[AttackPoint, ...]
    rounds: int
    best: Moment
    best_validation: Mapping[str, float]
    test: Mapping[str, float]
    privacy: tuple[Privacy, ...] = ()
