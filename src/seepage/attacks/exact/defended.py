"""What is known of a defence, as far as algebra needs it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from seepage._core import Outcome
from seepage.models.smoothing import smoothed
from seepage.observation import Claim, Observation

MIXED = "The clients mix rows, and a mixture passes the tests of a row: nothing is certified."


def as_computed(observation: Observation) -> Observation:
    """With the loss that the clients used, where labels are known: rows are subtracted with their own slopes."""
    exchange = observation.exchange
    if not exchange.channel.smoothing or observation.labels is None:
        return observation
    return replace(
        observation,
        learner=smoothed(observation.learner, exchange.channel.smoothing),
        exchange=replace(exchange, channel=replace(exchange.channel, smoothing=0.0)),
        earlier=tuple(map(as_computed, observation.earlier)),
    )


def unproven(claims: Sequence[Claim]) -> list[Claim]:
    """The claims without certificates: where clients mix rows, these would not be true."""
    return [
        each
        if each.rows is None
        else replace(
            each, certified=np.zeros(len(each.rows), dtype=bool), outcome=Outcome.BUDGET_SPENT, doubt=None, note=MIXED
        )
        for each in claims
    ]
