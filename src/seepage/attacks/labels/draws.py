"""Rows that could be real, from what the adversary knows of the input space."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from seepage._core import Streams
from seepage.attacks.labels.head import listen, midway, output_layer
from seepage.models import Parameters, scoped_randomness
from seepage.observation import Observation, Space


@dataclass(frozen=True, eq=False)
class Response:
    """What a model does with drawn rows, in float64: embeddings (draws, width) and outputs (draws, outputs)."""

    embeddings: Tensor
    outputs: Tensor


def plausible_rows(space: Space, count: int, generator: np.random.Generator) -> Tensor:
    """(count, width) rows: standard normal numbers, categories equally likely or, where shares are known, by share.

    Shares are known with the statistics of clients that standardise their one-hot entries, as TabLeak's do: an entry's
    shift is the category's share.
    """
    layout = space.layout
    rows = np.zeros((count, layout.width), dtype=np.float32)
    rows[:, : layout.numeric] = generator.standard_normal((count, layout.numeric))
    for block in layout.blocks:
        # The last slot of an embedded block is the unknown category, which hardly occurs.
        size = max(block.stop - block.start - (1 if layout.embedded else 0), 1)
        shares = np.ones(size) if space.shift is None else space.shift[block].numpy().astype(float)[:size].clip(min=0)
        shares = shares if shares.sum() > 0 else np.ones(size)
        rows[np.arange(count), block.start + generator.choice(size, count, p=shares / shares.sum())] = 1
    drawn = torch.from_numpy(rows)
    if space.shift is not None and space.scale is not None:
        blocks = slice(layout.numeric, layout.width)
        drawn[:, blocks] = (drawn[:, blocks] - space.shift[blocks].float()) / space.scale[blocks].float()
    return drawn


def responder(streams: Streams, count: int) -> Callable[[Observation], Response]:
    """The response of each observation's model to the same drawn rows; a model that many share is asked once."""
    known: dict[int, tuple[Parameters, Response]] = {}

    def respond(observation: Observation) -> Response:
        parameters = midway(observation)
        if id(parameters) not in known:
            rows = plausible_rows(observation.space, count, streams.numpy("rows"))
            # The parameters are kept too, so that their id is not given to others.
            known[id(parameters)] = parameters, response(observation, parameters, rows, streams)
        return known[id(parameters)][1]

    return respond


def response(observation: Observation, parameters: Parameters, rows: Tensor, streams: Streams) -> Response:
    """Run the model as a client does, with dropout, and listen at the entrance of its last layer (without)."""
    learner = observation.learner
    name = output_layer(learner, observation.layout.width)
    assert name is not None  # read_head says so before
    embeddings, outputs = listen(learner, parameters, rows, name)
    assert embeddings is not None
    if learner.has_noise:
        with scoped_randomness(streams.integer("dropout")), torch.no_grad():
            outputs = learner.outputs(parameters, rows, noisy=True)
    return Response(embeddings.double(), outputs.double())
