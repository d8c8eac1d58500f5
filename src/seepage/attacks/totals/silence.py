"""Categories whose weights did what weights do that no row touches.

A weight that only the rows of one category use stays where it is if there is none, whatever the optimiser: momentum,
Adam and schedules make nothing of a slope of zero, and decay moves it as it moves any weight at rest. So the update
without that movement is zero there, to the last digits, and not zero elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from seepage._core import NotApplicable
from seepage.attacks.exact.view import usable_layers
from seepage.models import Parameters, parameter_name, tokens_of
from seepage.observation import Observation

ULP = 2.0**-23  # of float32
SPARSE = 0.5  # more weights at rest than this where all rows pass, and rest says nothing


@dataclass(frozen=True)
class Entrance:
    """Where categories enter a model.

    Args:
        weights: the parameter's name for each column: the layer's own for all, or a table each.
        columns: for each column which entries are its categories': columns of the layer, or rows of the table.
        linear: it is a layer.
        faithful: rows of every category move it.
    """

    weights: tuple[str, ...]
    columns: tuple[slice, ...]
    linear: bool
    faithful: bool = True

    def signals(self, update: Parameters) -> list[Tensor]:
        """(..., categories, entries) of each column."""
        found = []
        for name, place in zip(self.weights, self.columns, strict=True):
            value = update[name].transpose(-1, -2) if self.linear else update[name]
            found.append(value[..., place, :])
        return found


def entrance_of(observation: Observation) -> Entrance:
    """Where categories enter; one sentence if they are mixed before."""
    layout, learner, space = observation.layout, observation.learner, observation.space
    layer = next((each for each in usable_layers(learner, layout.width) if each.entrance), None)
    if layer is not None:
        if space.standardised:
            raise NotApplicable("One-hot inputs are standardised, so every row moves the weights of every category.")
        name = parameter_name(layer.name, "weight")
        # The last slot of an embedded column stands for categories that are not known, which nobody has.
        last = -1 if layout.embedded else 0
        places = tuple(slice(block.start, block.stop + last) for block in layout.blocks)
        return Entrance((name,) * len(layout.blocks), places, linear=True)
    tokens = tokens_of(learner, layout.numeric, layout.sizes)
    if tokens is None or not tokens.tables:
        raise NotApplicable("Categories enter the model through no layer or table of their own.")
    places = tuple(slice(0, size - 1) for size in layout.sizes)
    return Entrance(tokens.tables, places, linear=False, faithful=tokens.faithful)


def moved(observation: Observation, names: Sequence[str]) -> Parameters:
    """The update of these parameters without what they do at rest; what is within rounding of it is 0."""
    exchange = observation.exchange
    update = {name: observation.update[name] for name in names}
    if exchange.protocol == "fedsgd":
        return update
    weights = {name: observation.parameters[name] for name in names}
    idle = exchange.training.idle(weights, exchange.learning_rate, exchange.steps)
    if not any(bool(value.any()) for value in idle.values()):
        return update
    found = {}
    for name, value in update.items():
        rest = value - idle[name]
        # Each step rounds the weight once or twice, and so does taking the difference.
        rounding = 2 * ULP * (exchange.steps + 2) * weights[name].abs()
        found[name] = torch.where(rest.abs() <= rounding, 0.0, rest)
    return found


def silent_categories(observation: Observation, entrance: Entrance) -> list[np.ndarray]:
    """For each column (categories,) 1 present, 0 absent; -1 where rest says nothing."""
    update = moved(observation, list(dict.fromkeys(entrance.weights)))
    loud = [(signal != 0).any(-1).numpy() for signal in entrance.signals(update)]
    others = [value for name, value in observation.update.items() if name not in entrance.weights]
    still = float(torch.cat([value.flatten() for value in others]).eq(0).double().mean()) if others else 0.0
    weights = observation.parameters[entrance.weights[0]]
    absent = 0 if entrance.faithful and still < SPARSE and bool(weights.any()) and not _cut(observation) else -1
    return [np.where(each, 1, absent) for each in loud]


def _cut(observation: Observation) -> bool:
    """Whether small entries were not sent: then the smallest that were is no small part of the usual one.

    Adam sends steps of nearly equal size by itself; there, as many zeros among the numbers' weights tell.
    """
    entries = torch.cat([value.flatten() for value in observation.update.values()]).abs()
    sent = entries[entries > 0]
    if len(sent) == len(entries) or not len(sent):
        return False
    if not observation.exchange.training.optimiser.linear:
        return False
    return float(sent.min()) > 100 / len(sent) * float(sent.median())
