"""Clients train as a stranger's torch loop does, all at once; servers step as their papers say."""

from __future__ import annotations

import copy
import dataclasses
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional

from seepage._core import InputError, Streams
from seepage.defenses import DPSGD
from seepage.federation import Automatic, Clients, FedAvg, FedSGD, Population, simulate
from seepage.federation.exposure import INITIALIZED
from seepage.federation.servers import Adaptive, Mean, Momentum
from seepage.models import MLP, Learner, LocalTraining, make_learner
from seepage.models.optimisers import SGD, Adam, adamw
from seepage.observation import Knowledge
from tests import cases

STREAMS = Streams(1)
FIRST = Automatic(keep=(INITIALIZED,))
TRAININGS = {
    "momentum": LocalTraining(optimiser=SGD(momentum=0.9, nesterov=True, weight_decay=0.01), schedule="cosine"),
    "adam": LocalTraining(optimiser=Adam(), clip=0.1),
    "adamw": LocalTraining(optimiser=adamw(), schedule="linear"),
    "fedprox": LocalTraining(proximal=0.5),
}
TORCHS = {
    "momentum": lambda p, r: torch.optim.SGD(p, r, momentum=0.9, nesterov=True, weight_decay=0.01),
    "adam": lambda p, r: torch.optim.Adam(p, r),
    "adamw": lambda p, r: torch.optim.AdamW(p, r),
    "fedprox": lambda p, r: torch.optim.SGD(p, r),
}


def normalised(population: Population) -> Population:
    """The same clients with a net whose BatchNorm is in training mode."""
    layout = population.encoder.layout
    net = MLP(width=8, depth=2, activation="relu", norm="batch")
    learner = make_learner(net, layout.numeric, layout.sizes, "binary", 2, seed=1, batch_statistics=True)
    return dataclasses.replace(population, learner=learner)


def plans_of(protocol: Any, population: Population) -> dict[int, np.ndarray]:
    every = [protocol.work(rows, STREAMS.numpy("batches", client)) for client, rows in enumerate(population.owned)]
    return {client: next(each) for client, each in enumerate(every)}


def stranger(learner: Learner, name: str, rate: float, x: torch.Tensor, y: torch.Tensor) -> dict[str, torch.Tensor]:
    """One client with torch's own optimiser and module in training mode: how its state changed."""
    training = TRAININGS[name]
    module = copy.deepcopy(learner.scoring().module).train().requires_grad_(True)
    before = {key: value.clone() for key, value in module.state_dict().items()}
    optimiser = TORCHS[name](list(module.parameters()), rate)
    start = [value.detach().clone() for value in module.parameters()]
    for rows, labels, each in zip(x, y, training.rates(rate, len(x)), strict=True):
        optimiser.param_groups[0]["lr"] = each
        optimiser.zero_grad()
        loss = functional.binary_cross_entropy_with_logits(module(rows)[:, 0], labels.float())
        pull = sum((p - s).square().sum() for p, s in zip(module.parameters(), start, strict=True))
        (loss + training.proximal / 2 * pull).backward()
        if training.clip:
            torch.nn.utils.clip_grad_norm_(module.parameters(), training.clip)
        optimiser.step()
    return {key: value - before[key] for key, value in module.state_dict().items()}


@pytest.mark.parametrize("model", ["mlp", "batch_norm"])
@pytest.mark.parametrize("name", TRAININGS)
def test_clients_train_as_a_torch_loop_does(name: str, model: str) -> None:
    population = cases.population("mlp") if model == "mlp" else normalised(cases.population("mlp"))
    protocol = FedAvg(
        batch_size=4, local_rows=8, local_epochs=2, learning_rate=0.02, training=TRAININGS[name], schedule=FIRST
    )
    plans = plans_of(protocol, population)
    state = population.learner.initial() | population.learner.buffers()
    together = Clients(protocol, population)(state, plans)
    for client, plan in plans.items():
        places = torch.from_numpy(plan)
        alone = stranger(population.learner, name, 0.02, population.x[places], population.y[places])
        sent = together.of_client(client)
        assert sent.keys() == {key for key in alone if "num_batches" not in key}
        for key, value in sent.items():
            # The slope of a bias before BatchNorm is rounding, of which Adam makes a whole step.
            if (
                "adam" not in name
                or model == "mlp"
                or key not in ("0.bias", "3.bias", "1.running_mean", "4.running_mean")
            ):
                torch.testing.assert_close(value, alone[key], rtol=1e-3, atol=2e-4 if "adam" in name else 1e-5)


def test_a_batch_norm_client_of_fedsgd_sends_its_gradient_and_statistics() -> None:
    population = normalised(cases.population("mlp"))
    protocol = FedSGD(batch_size=4, schedule=FIRST, exposure=0)
    observation = simulate(protocol, population, Knowledge(), STREAMS).points[0].observations[0]
    assert observation.moved.keys() == observation.buffers.keys() == population.learner.buffers().keys()
    assert not observation.buffers.keys() & observation.update.keys()
    assert all(bool(value.any()) for value in observation.moved.values())


def test_the_model_is_scored_with_its_running_statistics() -> None:
    population = normalised(cases.population("mlp"))
    trace = simulate(FedSGD(batch_size=8, exposure=2, learning_rate=0.1), population, Knowledge(), STREAMS)
    assert 0 < trace.best_validation["loss"] < 2


def test_row_by_row_clipping_cannot_be_beside_batch_norm_in_training_mode() -> None:
    population = normalised(cases.population("mlp"))
    with pytest.raises(InputError, match="mixes the rows"):
        simulate(FedSGD(batch_size=4), population, Knowledge(), STREAMS, defense=DPSGD())


def test_a_part_of_the_clients_takes_part() -> None:
    population = cases.population("mlp")
    protocol = FedSGD(batch_size=4, participation=0.34, exposure=1)
    trace = simulate(protocol, population, Knowledge(), STREAMS)
    everyone = simulate(dataclasses.replace(protocol, participation=1.0), population, Knowledge(), STREAMS)
    assert population.clients == 3
    assert {len(point.clients) for point in trace.points} == {1}
    assert {len(point.observations) for point in trace.points} == {1}
    assert trace.rounds == 3 * everyone.rounds


def test_servers_step_as_their_papers_say() -> None:
    weights, change = {"w": torch.tensor([1.0, -1.0])}, {"w": torch.tensor([0.5, -0.2])}
    assert Mean().step(weights, change, ())[0]["w"].tolist() == pytest.approx([1.5, -1.2])
    momentum = Momentum(rate=1.0, momentum=0.5)
    once, kept = momentum.step(weights, change, momentum.fresh(weights))
    twice, _ = momentum.step(once, change, kept)
    assert twice["w"].tolist() == pytest.approx([1.5 + 0.75, -1.2 - 0.3])
    adam = Adaptive(rate=0.1, beta1=0.9, beta2=0.99, tau=0.001)
    moved, _ = adam.step(weights, change, adam.fresh(weights))
    for place, value in enumerate((0.5, -0.2)):
        square = 0.99 * 1e-6 + 0.01 * value**2
        expected = float(weights["w"][place]) + 0.1 * 0.1 * value / (square**0.5 + 0.001)
        assert float(moved["w"][place]) == pytest.approx(expected, rel=1e-5)
    yogi = Adaptive(yogi=True)
    _, (_, squares) = yogi.step(weights, change, yogi.fresh(weights))
    assert squares["w"].tolist() == pytest.approx([1e-6 + 0.01 * 0.25, 1e-6 + 0.01 * 0.04])


@pytest.mark.parametrize("server", [Momentum(), Adaptive(), Adaptive(yogi=True)], ids=repr)
def test_a_federation_learns_with_every_server(server: Any) -> None:
    population = cases.population("mlp")
    protocol = FedAvg(batch_size=4, local_rows=8, learning_rate=0.05, exposure=8, server=server)
    trace = simulate(protocol, population, Knowledge(), STREAMS)
    assert trace.best_validation["loss"] < trace.points[0].validation["loss"]
