"""Guests of vertical learning: a table, and what BatchNorm and a square layer without bias make of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import torch

from seepage._core import Streams
from seepage.data import Encoder, Statistics, Table, open_dataset


@dataclass(frozen=True)
class Guest:
    """A guest's rows and their encoding."""

    table: Table
    encoder: Encoder
    statistics: Statistics
    x: np.ndarray


@cache
def clinic_guest(rows: int) -> Guest:
    """Some rows of the synthetic clinic."""
    frame, schema = open_dataset("clinic")
    table, encoder = Table.from_frame(frame, schema), Encoder(schema=schema)
    statistics = encoder.statistics(table)
    part = table.take(Streams(0).numpy("guest").choice(len(table), rows, replace=False))
    return Guest(part, encoder, statistics, encoder.encode(part, statistics))


def sent(x: np.ndarray, *, mixed: bool = True, trained: bool = False, seed: int = 0) -> np.ndarray:
    """The message of a guest: BatchNorm (``trained``: its own weights moved), then, if ``mixed``, the linear layer."""
    generator = torch.Generator().manual_seed(seed)
    norm, layer = torch.nn.BatchNorm1d(x.shape[1]), torch.nn.Linear(x.shape[1], x.shape[1], bias=False)
    torch.nn.init.xavier_normal_(layer.weight, generator=generator)
    with torch.no_grad():
        if trained:
            norm.weight.uniform_(0.3, 3, generator=generator)
            norm.bias.normal_(generator=generator)
        z = norm(torch.tensor(x, dtype=torch.float32))
        return np.asarray(layer(z) if mixed else z)
