"""Clients that an attacker makes up, to learn what updates look like.

Rows come from a few kinds of people. Each kind has its own shares of every category, so columns go together as they do
in real tables; shares are drawn widely around a first guess. Labels follow the model that was sent out, as far as it
knows something, and the kinds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from seepage.models import Parameters, scoped_randomness
from seepage.models.local_clients import local_clients
from seepage.observation import Observation

KINDS = 6  # of people
AT_ONCE = 60_000_000  # numbers of inputs that are held at a time: 240 MB


@dataclass(frozen=True, eq=False)
class Simulated:
    """Updates of made-up clients, and what was behind them.

    Args:
        updates: with a leading axis of clients.
        counts: (clients, categories of all columns).
        labels: (clients, classes); empty for a regression.
        means: (clients, numeric).
    """

    updates: Parameters
    counts: np.ndarray
    labels: np.ndarray
    means: np.ndarray


def simulated_clients(
    observation: Observation, shares: list[np.ndarray], clients: int, random: np.random.Generator
) -> Simulated:
    """Made-up clients that train as the observed one did, from the same model.

    Args:
        shares: for each column a first guess of its categories' shares; those that nobody has are 0.
    """
    exchange, layout, learner = observation.exchange, observation.layout, observation.learner
    together = max(1, AT_ONCE // (exchange.rows * layout.width * max(1, exchange.local_epochs)))
    generator = torch.Generator().manual_seed(int(random.integers(2**62)))
    train = local_clients(learner, exchange.training, exchange.learning_rate)
    parts, counts, labels, means = [], [], [], []
    with torch.no_grad(), scoped_randomness(int(random.integers(2**62))):
        for begin in range(0, clients, together):
            made = [_client(observation, shares, random) for _ in range(min(together, clients - begin))]
            x, y = torch.stack([rows for rows, _ in made]), torch.stack([aims for _, aims in made])
            order = torch.stack([_order(observation, generator) for _ in made])
            if exchange.protocol == "fedsgd":
                parts.append(learner.gradients(observation.parameters, x, y, noisy=learner.has_noise))
            else:
                place = torch.arange(len(made))[:, None, None]
                state = observation.parameters | observation.buffers
                parts.append(train(state, x[place, order], y[place, order], generator))
            counts.append(x[:, :, layout.numeric :].sum(1).round().numpy())
            means.append(x[:, :, : layout.numeric].mean(1).numpy())
            if learner.task != "regression":
                labels.append(np.stack([np.bincount(each, minlength=_classes(observation)) for each in y.numpy()]))
    updates = {name: torch.cat([part[name] for part in parts]) for name in observation.update}
    joined = np.concatenate(labels) if labels else np.zeros((clients, 0))
    return Simulated(updates, np.concatenate(counts), joined, np.concatenate(means))


def _classes(observation: Observation) -> int:
    outputs = observation.learner.outputs(observation.parameters, torch.zeros(2, observation.layout.width)).shape[-1]
    return max(2, int(outputs))


def _client(observation: Observation, shares: list[np.ndarray], random: np.random.Generator) -> tuple[Tensor, Tensor]:
    """One client's inputs and targets."""
    layout, rows = observation.layout, observation.exchange.rows
    kind = random.choice(KINDS, size=rows, p=random.dirichlet(np.full(KINDS, 1.0)))
    middle = random.normal(scale=0.5, size=layout.numeric)
    numbers = middle + random.normal(scale=0.7, size=(KINDS, layout.numeric))[kind]
    numbers = numbers + random.normal(size=(rows, layout.numeric))
    if observation.space.scale is None:  # the client's own statistics: mean 0 and deviation 1 by the client's doing
        numbers = (numbers - numbers.mean(0)) / np.maximum(numbers.std(0), 1e-6)
    x = np.zeros((rows, layout.width), dtype=np.float32)
    x[:, : layout.numeric] = numbers
    for block, share in zip(layout.blocks, shares, strict=True):
        own = random.dirichlet(share * np.exp(random.uniform(np.log(0.5), np.log(50))) + 1e-3 * (share > 0) + 1e-9)
        spread = 3 * np.exp(random.uniform(0, np.log(50)))
        kinds = np.stack([random.dirichlet(own * spread + 1e-3 * (share > 0) + 1e-9) for _ in range(KINDS)])
        kinds = kinds * (share > 0)
        ends = np.cumsum(kinds / kinds.sum(1, keepdims=True), 1)
        codes = (random.random(rows)[:, None] > ends[kind]).sum(1).clip(0, len(share) - 1)
        x[np.arange(rows), block.start + codes] = 1.0
    inputs = torch.from_numpy(x)
    return inputs, _targets(observation, inputs, kind, random)


def _targets(observation: Observation, x: Tensor, kind: np.ndarray, random: np.random.Generator) -> Tensor:
    """Targets that follow the model, the kind and chance; known labels are given out in that order."""
    learner, rows = observation.learner.scoring(), len(x)
    outputs = learner.outputs(observation.parameters | observation.buffers, x).double().numpy()
    # A model that is trained has learned what its clients' labels depend on; one that is not has all of it to learn.
    # Which it is, the attacker cannot see: some of its clients are of either kind.
    trust, own = np.exp(random.uniform(np.log(0.7), np.log(1.4))), random.choice([0.3, 2.0]) * random.random()
    if learner.task == "regression":
        score = trust * outputs[:, 0] + own * random.normal(size=KINDS)[kind] + random.normal(size=rows)
        aims = np.sort(random.normal(size=rows)) if observation.labels is None else observation.labels.numpy()
        return torch.from_numpy(aims[np.argsort(np.argsort(score))].astype(np.float32))
    classes = max(2, outputs.shape[1])
    logits = outputs if outputs.shape[1] > 1 else np.concatenate([np.zeros((rows, 1)), outputs], 1)
    score = trust * logits + own * random.normal(size=(KINDS, classes))[kind] + random.gumbel(size=(rows, classes))
    if observation.labels is not None:
        wanted = np.bincount(observation.labels.numpy(), minlength=classes) / rows
    else:
        wanted = random.dirichlet(np.full(classes, 1.0))
    for _ in range(20):  # weights of the classes, until about as many rows as wanted have each
        found = np.bincount(score.argmax(1), minlength=classes) / rows
        score = score + np.log((wanted + 1e-3) / (found + 1e-3))
    return torch.from_numpy(score.argmax(1))


def _order(observation: Observation, generator: torch.Generator) -> Tensor:
    """(steps, batch) places of rows: passes over all of them."""
    exchange = observation.exchange
    steps = exchange.rows // exchange.batch_size
    first = torch.randperm(exchange.rows, generator=generator)[: steps * exchange.batch_size]
    passes = [first]
    for _ in range(exchange.local_epochs - 1):
        mixed = first[torch.randperm(len(first), generator=generator)]
        passes.append(first if exchange.same_order else mixed)
    return torch.cat(passes).view(-1, exchange.batch_size)
