"""Tiny instances on which parts are checked: a table, updates of clients, a stream of vertical gradients, models."""

from __future__ import annotations

from functools import cache

import numpy as np
import polars as pl
import torch
from torch import Tensor

from seepage._core import Streams
from seepage.data import IID, Encoder, Table, infer_schema, split
from seepage.defenses import Defense, Undefended
from seepage.federation import Automatic, FedAvg, FederatedProtocol, FedSGD, make_population, simulate
from seepage.federation.vertical.shared import SharedLayers
from seepage.models import Architecture, Learner, make_learner, small_mlp
from seepage.models.stack import Stack
from seepage.models.stacked_training import first_weights
from seepage.observation import Knowledge, Observation, Space
from seepage.observation.vertical import VerticalScene, VerticalUpdate

PEOPLE, BATCH = 12, 3
_START = Automatic(keep=("initialized",))


@cache
def tiny_table(rows: int = 90) -> Table:
    """A table with two numbers, two categories and a binary target."""
    draw = Streams(11).numpy("tiny table", rows)
    size = draw.normal(170, 10, rows).round(1)
    frame = pl.DataFrame(
        {
            "age": draw.integers(18, 90, rows),
            "colour": draw.choice(["red", "green", "blue"], rows),
            "size": size,
            "smoker": draw.choice(["no", "yes"], rows),
            "target": ["yes" if value > 170 else "no" for value in size + 5 * draw.normal(size=rows)],
        }
    )
    return Table.from_frame(frame, infer_schema(frame, "target"))


def tiny_learner(architecture: Architecture | None = None) -> tuple[Learner, Encoder]:
    """A model for the tiny table with freshly drawn weights, and its encoder."""
    chosen = architecture or small_mlp()
    schema = tiny_table().schema
    encoder = Encoder(schema=schema, categories=chosen.encoding)
    layout = encoder.layout
    return make_learner(chosen, layout.numeric, layout.sizes, "binary", len(schema.target.classes), seed=5), encoder


def tiny_observations(
    *,
    protocol: str = "fedsgd",
    knowledge: Knowledge | None = None,
    defense: Defense | None = None,
    architecture: Architecture | None = None,
) -> list[Observation]:
    """The updates of two clients, three rows each, before any training."""
    learner, encoder = tiny_learner(architecture)
    streams = Streams(3)
    population = make_population(
        split(tiny_table(), streams.numpy("split")), IID(clients=2), encoder, learner, streams.numpy("partition")
    )
    trace = simulate(
        _protocol(protocol), population, knowledge or Knowledge(), streams, defense=defense or Undefended()
    )
    return list(trace.points[0].observations)


def _protocol(name: str) -> FederatedProtocol:
    if name == "fedsgd":
        return FedSGD(batch_size=BATCH, exposure=0, schedule=_START)
    return FedAvg(batch_size=BATCH, local_rows=2 * BATCH, exposure=0, schedule=_START)


def tiny_stream(defense: Defense | None = None, *, moments: bool = False) -> tuple[VerticalScene, list[VerticalUpdate]]:
    """What the server of vertical learning knows, and the gradients of batches of twelve people."""
    learner, encoder = tiny_learner()
    people = tiny_table().take(np.arange(PEOPLE))
    x = torch.from_numpy(encoder.encode(people, encoder.statistics(people)))
    y = torch.from_numpy(people.target)
    scene = VerticalScene(
        learner=learner, rows=PEOPLE, batch_size=BATCH, space=Space(layout=encoder.layout), moments=moments
    )
    protocol = SharedLayers(batch_size=BATCH, moments=moments)
    return scene, list(protocol.stream(learner, x, y, 2 * PEOPLE, Streams(4), defense=defense or Undefended()))


def tiny_models(count: int = 24) -> tuple[Stack, Tensor]:
    """Models whose first layer tells a share, and the shares."""
    shares = torch.linspace(0.02, 0.98, count)
    stack = Stack.cat([first_weights((5, 4, 2), seed) for seed in range(count)])
    moved = stack.weights[0] + 3 * (shares - 0.5)[:, None, None]
    return Stack((moved, *stack.weights[1:]), stack.biases), shares
