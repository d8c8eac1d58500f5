"""The clients: their encoded rows in one tensor, and the rows held out for measuring utility."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from seepage.data import Encoder, Partition, Splits, Statistics, Table
from seepage.models import Learner


@dataclass(frozen=True, kw_only=True)
class Population:
    """All clients of a federation.

    Args:
        learner: the model they train.
        encoder: how rows become inputs.
        x, y: inputs and targets of all clients, one client after the other.
        owned: for each client, its places in ``x``.
        tables: each client's rows, in the order of ``owned``.
        statistics: each client's scaling.
        validation, test: inputs and targets, scaled with the pooled training statistics.
        target_scale: regression targets are divided by it (and shifted) before training.
        pooled: the statistics of the whole training part.
    """

    learner: Learner
    encoder: Encoder
    x: Tensor
    y: Tensor
    owned: tuple[np.ndarray, ...]
    tables: tuple[Table, ...]
    statistics: tuple[Statistics, ...]
    validation: tuple[Tensor, Tensor]
    test: tuple[Tensor, Tensor]
    target_scale: float
    pooled: Statistics

    @property
    def clients(self) -> int:
        return len(self.owned)

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(len(rows) for rows in self.owned)


def make_population(
    splits: Splits,
    partition: Partition,
    encoder: Encoder,
    learner: Learner,
    generator: np.random.Generator,
    *,
    local_statistics: bool = True,
    largest: int | None = None,
    scale_target: bool = True,
) -> Population:
    """Divide the training rows over clients and encode everything.

    Args:
        local_statistics: each client scales with its own statistics, as the profiling study does; validation and test
            rows always use those of the whole training part.
        largest: a client keeps at most this many of its rows, drawn at random; the others are nobody's, and take no
            part in its statistics.
        scale_target: standardise a regression target over the training part.
    """
    pooled = encoder.statistics(splits.train)
    shares = [generator.permutation(rows)[:largest] if largest else rows for rows in partition(splits.train, generator)]
    tables = tuple(splits.train.take(rows) for rows in shares)
    statistics = tuple(encoder.statistics(table) if local_statistics else pooled for table in tables)
    ends = np.cumsum([len(table) for table in tables])
    shift, scale = _target_scaling(splits.train) if scale_target else (0.0, 1.0)

    def target(table: Table) -> Tensor:
        if table.schema.target.task == "regression":
            return torch.from_numpy(((table.target - shift) / scale).astype(np.float32))
        return torch.from_numpy(table.target)

    def held_out(table: Table) -> tuple[Tensor, Tensor]:
        return torch.from_numpy(encoder.encode(table, pooled)), target(table)

    encoded = [encoder.encode(table, own) for table, own in zip(tables, statistics, strict=True)]
    return Population(
        learner=learner,
        encoder=encoder,
        x=torch.from_numpy(np.concatenate(encoded)),
        y=torch.cat([target(table) for table in tables]),
        owned=tuple(np.arange(end - len(table), end) for end, table in zip(ends, tables, strict=True)),
        tables=tables,
        statistics=statistics,
        validation=held_out(splits.validation),
        test=held_out(splits.test),
        target_scale=scale,
        pooled=pooled,
    )


def _target_scaling(train: Table) -> tuple[float, float]:
    """Mean and deviation of a regression target over the training part.

    NOTE[DIFF] the profiling study leaves targets as they are, which ``scale_target=False`` does. Prices or days make
    plain SGD diverge so; standardised they do not, and scores in the target's own units are scaled back.
    """
    if train.schema.target.task != "regression":
        return 0.0, 1.0
    return float(train.target.mean()), float(train.target.std()) or 1.0
