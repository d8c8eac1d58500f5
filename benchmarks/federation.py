"""Vectorised clients against a plain loop over clients, in the same run.

    python benchmarks/federation.py [--quick] --json

Adult, 10 clients, batch 8, the profiling study's small MLP, FedSGD rounds from the same start on the same batches. The
reference is what a careful person writes without vectorising: one forward pass, one loss and one `autograd.grad` per
client, then the mean and the server's step. Where Adult cannot be fetched, clinic stands in and the result says so.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from seepage._core import Streams
from seepage.data import IID, Encoder
from seepage.data.request import Request
from seepage.data.source import open_source
from seepage.federation import Clients, FedSGD, Population, make_population
from seepage.models import Parameters, fitting_threads, make_learner, small_mlp

CLIENTS, BATCH, SEED = 10, 8, 7


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    parser.add_argument("--json", action="store_true", help="print JSON (always done)")
    options = parser.parse_args()
    rounds, repeats = (300, 5) if options.quick else (1000, 7)
    name, population = prepare()
    protocol = FedSGD(batch_size=BATCH)
    plans = make_plans(protocol, population, rounds)
    with torch.no_grad(), fitting_threads(0):
        clients = Clients(protocol, population)
        plain(population, protocol, plans[:30])
        recording = timed(lambda: vectorised(clients, protocol, plans[:30]))
        loop, stacked = [], []
        for _ in range(repeats):  # in turn, so that a busy moment of the machine hits both
            loop.append(timed(lambda: plain(population, protocol, plans)))
            stacked.append(timed(lambda: vectorised(clients, protocol, plans)))
    result: dict[str, Any] = {
        "benchmark": "federation",
        "settings": {
            "dataset": name, "clients": CLIENTS, "batch_size": BATCH, "model": "mlp", "rounds": rounds,
            "repeats": repeats, "threads": 1, "inputs": population.x.shape[1],
        },
        "seconds_loop": statistics.median(loop),
        "seconds_vectorised": statistics.median(stacked),
        "seconds_first_30_rounds_with_recording": recording,
        "milliseconds_per_round": 1000 * statistics.median(stacked) / rounds,
        "speedup": statistics.median(loop) / statistics.median(stacked),
        "max_update_difference": difference(population, protocol, plans[:50]),
    }  # fmt: skip
    print(json.dumps(result, indent=2))


def prepare() -> tuple[str, Population]:
    """Adult divided over ten clients, encoded for the small MLP."""
    source = open_source(Request(data="adult", fallback="clinic"))
    streams = Streams(SEED)
    encoder = Encoder(schema=source.table.schema)
    layout = encoder.layout
    learner = make_learner(small_mlp(), layout.numeric, layout.sizes, "binary", 2, seed=streams.integer("parameters"))
    splits = source.split(streams.numpy("split"))
    return source.name, make_population(splits, IID(clients=CLIENTS), encoder, learner, streams.numpy("partition"))


def make_plans(protocol: FedSGD, population: Population, rounds: int) -> list[list[np.ndarray]]:
    """Which rows every client uses in every round; the same for both contestants."""
    workers = [protocol.work(rows, Streams(SEED).numpy("batches", c)) for c, rows in enumerate(population.owned)]
    return [[next(worker) for worker in workers] for _ in range(rounds)]


def vectorised(clients: Clients, protocol: FedSGD, plans: list[list[np.ndarray]]) -> Parameters:
    parameters = clients.population.learner.initial()
    for plan in plans:
        sent = clients(parameters, dict(enumerate(plan)))
        parameters = protocol.aggregate(parameters, sent.updates, [BATCH] * CLIENTS)
    return parameters


@torch.enable_grad()
def plain(population: Population, protocol: FedSGD, plans: list[list[np.ndarray]]) -> Parameters:
    module = small_mlp().build(population.encoder.layout.numeric, population.encoder.layout.sizes, 1)
    module.load_state_dict(population.learner.initial())
    weights = list(module.parameters())
    for plan in plans:
        updates = plain_round(module, population, plan)
        with torch.no_grad():
            for position, weight in enumerate(weights):
                mean = torch.stack([update[position] for update in updates]).mean(0)
                weight -= protocol.learning_rate * mean
    return dict(module.named_parameters())


def plain_round(
    module: torch.nn.Module, population: Population, plan: list[np.ndarray]
) -> list[tuple[torch.Tensor, ...]]:
    updates = []
    for rows in plan:
        places = torch.from_numpy(rows[0])
        outputs = module(population.x[places])[:, 0]
        loss = functional.binary_cross_entropy_with_logits(outputs, population.y[places].float())
        updates.append(torch.autograd.grad(loss, list(module.parameters())))
    return updates


def difference(population: Population, protocol: FedSGD, plans: list[list[np.ndarray]]) -> float:
    """The largest difference of any entry of any client's update, along the vectorised run."""
    clients, parameters = Clients(protocol, population), population.learner.initial()
    module = small_mlp().build(population.encoder.layout.numeric, population.encoder.layout.sizes, 1)
    worst = 0.0
    for plan in plans:
        module.load_state_dict(parameters)
        alone = plain_round(module, population, plan)
        with torch.no_grad():
            sent = clients(parameters, dict(enumerate(plan)))
            for client in range(CLIENTS):
                for ours, theirs in zip(sent.of_client(client).values(), alone[client], strict=True):
                    worst = max(worst, float((ours - theirs).abs().max()))
            parameters = protocol.aggregate(parameters, sent.updates, [BATCH] * CLIENTS)
    return worst


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
