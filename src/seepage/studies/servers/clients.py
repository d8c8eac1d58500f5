"""The client of a cheating server, and what the server may make up: here truth and attack are in one room."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from seepage._core import Streams
from seepage.attacks.malicious import Trap
from seepage.data import Encoder, Splits, Statistics, Table
from seepage.data.source import Source
from seepage.defenses import Undefended
from seepage.federation import FedAvg, FedSGD
from seepage.federation.space import space_of
from seepage.models import Learner, fitting_threads
from seepage.observation import Exchange, Knowledge
from seepage.observation.servers import Answer, ServerScene
from seepage.studies.parts import make_parts
from seepage.studies.servers.settings import ServersSettings


@dataclass(frozen=True, kw_only=True, eq=False)
class Client:
    """One client with its rows.

    Args:
        table: its rows.
        x, y: encoded.
        exchange: the rules.
    """

    table: Table
    x: Tensor
    y: Tensor
    exchange: Exchange

    def answer(self, trap: Trap, settings: ServersSettings, generator: np.random.Generator) -> Answer:
        """What it sends back to weights that it was sent; it does not look at them."""
        if self.exchange.protocol == "fedsgd":
            plan = np.arange(len(self.x))[None]
            computed = FedSGD(batch_size=len(self.x)).computation(trap.learner, Undefended())
        else:
            size, passes = self.exchange.batch_size, self.exchange.local_epochs
            plan = np.concatenate([generator.permutation(len(self.x)) for _ in range(passes)]).reshape(-1, size)
            protocol = FedAvg(batch_size=size, local_epochs=passes, learning_rate=self.exchange.learning_rate)
            computed = protocol.computation(trap.learner, Undefended())
        with torch.no_grad(), fitting_threads(len(self.x) * trap.learner.size):
            sent = computed(trap.parameters, self.x[plan][None], self.y[plan][None], torch.Generator())
        update = {name: value[0] for name, value in sent.items()}
        return Answer(learner=trap.learner, parameters=trap.parameters, update=update, exchange=self.exchange)


@dataclass(frozen=True, kw_only=True, eq=False)
class Setting:
    """What all clients of a choice have in common."""

    splits: Splits
    encoder: Encoder
    learner: Learner
    statistics: Statistics
    settings: ServersSettings
    protocol: str
    rows: int

    def client(self, generator: np.random.Generator) -> Client:
        """A client with rows that were drawn from the training part."""
        batch = min(self.settings.local_batch, self.rows)
        count = self.rows if self.protocol == "fedsgd" else self.rows // batch * batch
        table = self.splits.train.take(generator.permutation(len(self.splits.train))[:count])
        if self.protocol == "fedsgd":
            exchange = Exchange(protocol="fedsgd", rows=count, batch_size=count)
        else:
            exchange = Exchange(
                protocol="fedavg",
                rows=count,
                batch_size=batch,
                local_epochs=self.settings.local_epochs,
                learning_rate=self.settings.learning_rate,
            )
        target = table.target
        if table.schema.target.task == "regression":
            whole = self.splits.train.target
            target = ((target - whole.mean()) / (whole.std() or 1.0)).astype(np.float32)
        x = torch.from_numpy(self.encoder.encode(table, self.statistics))
        return Client(table=table, x=x, y=torch.from_numpy(target), exchange=exchange)

    def scene(self, exchange: Exchange, rounds: int, generator: np.random.Generator) -> ServerScene:
        """What the server knows."""
        known = space_of(self.encoder, self.statistics, Knowledge(labels=False, ranges=True, statistics=True))
        # To the last digit, as the server handed them out: numbers of six digits need it.
        shift, scale = (torch.from_numpy(each).double() for each in (self.statistics.shift, self.statistics.scale))
        space = replace(known, shift=shift, scale=scale)
        return ServerScene(
            learner=self.learner,
            space=space,
            exchange=exchange,
            public=self.encoder.encode(self._public(generator), self.statistics).astype(np.float64),
            source=self.settings.public,
            rounds=rounds,
            classes=len(self.encoder.schema.target.classes),
        )

    def _public(self, generator: np.random.Generator) -> Table:
        """Rows that the server makes up from what it knows; no client has them."""
        known, count = self.splits.validation, self.settings.public_rows
        drawn = known.take(generator.integers(0, len(known), count) if len(known) < count else np.arange(count))
        if self.settings.public == "sample":
            return drawn
        if self.settings.public == "marginals":
            numbers = np.stack([generator.permutation(drawn.numbers[:, j]) for j in range(drawn.numbers.shape[1])], 1)
            codes = np.stack([generator.permutation(drawn.codes[:, j]) for j in range(drawn.codes.shape[1])], 1)
            return Table(drawn.schema, numbers if numbers.size else drawn.numbers, codes, drawn.target)
        schema = drawn.schema
        numbers = np.stack([generator.uniform(c.low, c.high, count) for c in schema.numeric], 1)
        codes = np.stack([generator.integers(0, len(c.categories), count) for c in schema.categorical], 1)
        return Table(schema, numbers, codes, drawn.target)


def prepared(source: Source, settings: ServersSettings, model: str, protocol: str, rows: int) -> Setting:
    """The table split, the agreed model, and how rows are encoded: with the training part's statistics."""
    streams = Streams(settings.seed)
    splits = source.split(streams.numpy("split"))
    encoder, learner = make_parts(source, settings, model, study="servers", seed=streams.integer("parameters"))
    return Setting(
        splits=splits,
        encoder=encoder,
        learner=learner,
        statistics=encoder.statistics(splits.train),
        settings=settings,
        protocol=protocol,
        rows=rows,
    )
