"""A simulation of the same shape: what the attack is worth on rows that we know, at the weights that were captured.

Where there is a public table, its rows are dealt to imagined clients. Where there is only a schema, rows are drawn from
its ranges and categories; real rows look different, and the report says so.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from seepage._core import Streams
from seepage.data import Encoder, Statistics, Table
from seepage.federation import AttackPoint, Clients, FedAvg, FederatedProtocol, FedSGD, Moment, Population
from seepage.federation.watching import Watched, attack_point
from seepage.models import Learner
from seepage.observation import Exchange, Knowledge, Observation

STEPS = 300  # steps of a number between its ends, at least, where only a schema is known
OWNED = 200  # rows of an imagined client at least: it scales with the statistics of all its rows


def simulate_alike(
    observation: Observation,
    encoder: Encoder,
    table: Table,
    shared: Statistics | None,
    knowledge: Knowledge,
    count: int,
    streams: Streams,
) -> tuple[AttackPoint, Table]:
    """Updates of imagined clients who were sent the same weights and follow the same rules; and all their rows.

    Where several rounds are read as one, these clients train on the same rows in each of them.
    """
    owned = max(OWNED, observation.exchange.rows)
    rows = drawn(table, owned * count, streams.numpy("rows"))
    tables = [rows.take(np.arange(owned) + client * owned) for client in range(count)]
    statistics = [shared or encoder.statistics(each) for each in tables]
    population = _population(observation.learner, encoder, tables, statistics)
    protocol = protocol_of(observation.exchange)
    workers = [protocol.work(places, streams.numpy("batches", n)) for n, places in enumerate(population.owned)]
    plans = {client: next(worker) for client, worker in enumerate(workers)}
    watched = []
    for each in observation.rounds:
        state = each.parameters | (each.buffers or each.learner.buffers())
        with torch.no_grad():
            watched.append(Watched(state, Clients(protocol, population)(state, plans), plans))
    moment = Moment(name="simulated", round=0, exposures=(0.0,) * count)
    return attack_point(protocol, population, knowledge, moment, watched), rows


def drawn(table: Table, count: int, generator: np.random.Generator) -> Table:
    """Rows of the table, all different as far as it has as many; rows that the schema allows if it has none."""
    if len(table):
        shuffled = np.concatenate([generator.permutation(len(table)) for _ in range(-(-count // len(table)))])
        return table.take(shuffled[:count])
    schema = table.schema
    low, high = ([getattr(column, name) for column in schema.numeric] for name in ("low", "high"))
    numbers = generator.uniform(low, high, size=(count, len(low)))
    spans = np.subtract(high, low, dtype=float)
    fine = 10.0 ** np.floor(np.log10(np.where(spans > 0, spans, 1.0) / STEPS))  # people write a few digits
    step = np.where([column.integer for column in schema.numeric], 1.0, fine)
    sizes = np.array([len(column.categories) for column in schema.categorical], dtype=np.int64)
    classes = len(schema.target.classes)
    return Table(
        schema,
        np.clip(np.round(numbers / step) * step, low, high),
        generator.integers(0, sizes, size=(count, len(sizes))),
        generator.integers(0, classes, size=count) if classes else generator.normal(size=count),
    )


def _population(
    learner: Learner, encoder: Encoder, tables: Sequence[Table], statistics: Sequence[Statistics]
) -> Population:
    x = torch.from_numpy(np.concatenate([encoder.encode(t, s) for t, s in zip(tables, statistics, strict=True)]))
    y = torch.from_numpy(np.concatenate([table.target for table in tables]))
    if not tables[0].schema.target.classes:
        y = ((y - y.mean()) / (y.std() or 1.0)).float()
    ends = np.cumsum([len(table) for table in tables])
    return Population(
        learner=learner,
        encoder=encoder,
        x=x,
        y=y,
        owned=tuple(np.arange(end - len(table), end) for end, table in zip(ends, tables, strict=True)),
        tables=tuple(tables),
        statistics=tuple(statistics),
        validation=(x[:0], y[:0]),
        test=(x[:0], y[:0]),
        target_scale=1.0,
        pooled=statistics[0],
    )


def protocol_of(exchange: Exchange) -> FederatedProtocol:
    """The protocol by whose rules an update came about."""
    if exchange.protocol == "fedsgd":
        return FedSGD(batch_size=exchange.rows)
    return FedAvg(
        batch_size=exchange.batch_size,
        local_rows=exchange.rows,
        local_epochs=exchange.local_epochs,
        learning_rate=exchange.learning_rate,
        same_order=exchange.same_order,
        training=exchange.training,
    )
