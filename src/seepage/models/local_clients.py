"""Many clients that train at once, written once: the federation uses it, and an attacker who simulates clients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.func import vmap

from seepage.models.functional import Learner, Parameters
from seepage.models.local import LocalTraining
from seepage.models.optimisers import Moments
from seepage.models.traced import Traced

# Parameters, inputs, targets, random numbers of a defence -> changes. All but the first have a leading client axis.
Trained = Callable[[Parameters, Tensor, Tensor, torch.Generator], Parameters]
Private = Callable[[Parameters, Tensor, Tensor, torch.Generator], Parameters]


def local_clients(learner: Learner, training: LocalTraining, rate: float, private: Private | None = None) -> Trained:
    """How the models of all clients change, for (clients, steps, batch, width) inputs.

    One step of all clients is recorded once and replayed for every local step, so a pass may be of any length.

    Args:
        rate: the learning rate of the first step.
        private: how a client computes the gradient of a batch, if a defence does it.
    """
    if training.plain and not learner.batch_statistics:
        return _descent(learner, training, rate, private)
    return _training(learner, training, rate, private)


def for_each(clients: int, parameters: Parameters) -> Parameters:
    """The global parameters with a client axis; nothing is copied."""
    return {name: value.expand(clients, *value.shape) for name, value in parameters.items()}


def apart(learner: Learner, state: Parameters) -> tuple[Parameters, Parameters]:
    """Weights, and the running statistics that travel with them."""
    names = learner.buffers().keys()
    return (
        {name: value for name, value in state.items() if name not in names},
        {name: value for name, value in state.items() if name in names},
    )


def _descent(learner: Learner, training: LocalTraining, rate: float, private: Private | None) -> Trained:
    """Plain steps, as few operations as can be: most audits take this way."""

    def one(parameters: Parameters, x: Tensor, y: Tensor, rate: Tensor) -> Parameters:
        return learner.local_steps(parameters, x, y, rate, noisy=learner.has_noise)

    plain = Traced(one, steady=learner.vectorised)

    def step(current: Parameters, x: Tensor, y: Tensor, rate: Tensor, random: torch.Generator) -> Parameters:
        if private is None:
            result: Parameters = plain(current, x, y, rate)
            return result
        slope = private(current, x, y, random)
        return {name: value - rate * slope[name] for name, value in current.items()}

    def train(parameters: Parameters, x: Tensor, y: Tensor, random: torch.Generator) -> Parameters:
        current = {name: value.contiguous() for name, value in for_each(len(x), parameters).items()}
        for number, each in enumerate(training.rates(rate, x.shape[1])):
            current = step(current, x[:, number], y[:, number], torch.tensor(each), random)
        return {name: value - parameters[name] for name, value in current.items()}

    return train


def _training(learner: Learner, training: LocalTraining, rate: float, private: Private | None) -> Trained:
    """Steps of any optimiser, with moments, and with BatchNorm in training mode if the model has it so."""

    def slopes(weights: Parameters, x: Tensor, y: Tensor) -> tuple[Parameters, Parameters]:
        return learner.gradient_and_statistics(weights, x, y, noisy=learner.has_noise)

    def along(*arguments: Any) -> Any:
        return vmap(training.step, in_dims=(0, 0, 0, None, None, None))(*arguments)

    def whole(weights: Parameters, moments: Moments, buffers: Parameters, start: Parameters, *step: Tensor) -> Any:
        x, y, rate, number = step
        slope, seen = learner.mapped(slopes, randomness="different")(weights, x, y)
        stepped = along(weights, slope, moments, start, rate, number)
        return *stepped, vmap(learner.moved)(buffers, seen) if buffers else {}

    recorded, stepped = Traced(whole, steady=learner.vectorised), Traced(along)

    def train(parameters: Parameters, x: Tensor, y: Tensor, random: torch.Generator) -> Parameters:
        start, _ = apart(learner, parameters)
        state = {name: value.contiguous() for name, value in for_each(len(x), parameters).items()}
        current, buffers = apart(learner, state)
        moments = training.fresh(current)
        for place, each in enumerate(training.rates(rate, x.shape[1])):
            knobs = torch.tensor(each), torch.tensor(place + 1.0)
            if private is None:
                arguments = (x[:, place], y[:, place], *knobs)
                current, moments, buffers = recorded(current, moments, buffers, start, *arguments)
            else:
                slope = private(current, x[:, place], y[:, place], random)
                current, moments = stepped(current, slope, moments, start, *knobs)
        return {name: value - parameters[name] for name, value in (current | buffers).items()}

    return train
