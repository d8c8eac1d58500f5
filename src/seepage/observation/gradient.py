"""The gradient that an update stands for."""

from __future__ import annotations

from dataclasses import replace

from seepage._core import NotApplicable
from seepage.models import LocalTraining, Parameters, response
from seepage.observation.observation import Exchange, Observation

NEARLY = 1 - 1e-4  # of the clipping norm: what is shorter was not clipped


def gradient_of(observation: Observation) -> tuple[Parameters, float]:
    """The gradient in float64, and by what the update was multiplied for it.

    For FedSGD it is what was sent. For FedAvg it is what all local steps have in common: the change without the decay
    of the weights, divided by the weight that the optimiser gives to a gradient. After one step that is the gradient
    itself, after several a mean along the way.

    Raises:
        NotApplicable: the steps' gradients do not add up in the change (Adam), or their lengths are lost (clipping).
    """
    exchange = observation.exchange
    update = {name: value.double() for name, value in observation.update.items()}
    if exchange.protocol == "fedsgd":
        return update, 1.0
    if not exchange.learning_rate > 0 or exchange.steps < 1:
        raise NotApplicable(
            f"The local learning rate is {exchange.learning_rate:g} and there are {exchange.steps} local steps; to "
            "read an update both must be known and above 0."
        )
    if not exchange.training.optimiser.linear:
        raise NotApplicable(
            "The clients step with Adam, which divides every slope by its own size: no gradient is left in the change. "
            "Which categories are there still is (the attack presence)."
        )
    steps = response(_unclipped(exchange), exchange.learning_rate, exchange.steps)
    assert steps is not None
    scale = -1.0 / steps.total
    lost = steps.kept - 1.0
    gradient = {
        name: (value - lost * observation.parameters[name].double()) * scale if lost else value * scale
        for name, value in update.items()
    }
    if exchange.training.clip:
        norm = float(sum(value.square().sum() for value in gradient.values())) ** 0.5
        if exchange.steps > 1 or norm > NEARLY * exchange.training.clip:
            raise NotApplicable(
                f"The clients clip their gradients to a length of {exchange.training.clip:g}, so how long they were is "
                "not known."
            )
    return gradient, scale


def _unclipped(exchange: Exchange) -> LocalTraining:
    return replace(exchange.training, clip=0.0)
