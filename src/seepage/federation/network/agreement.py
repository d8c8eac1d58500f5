"""What the host brings, how all train, and what the host has at the end."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from seepage.data.row_keys import Keys
from seepage.federation.network.own_state import KeptGuest
from seepage.federation.vertical import Columns, Training
from seepage.federation.vertical.host import Host
from seepage.models.tabnet_split import TabNetParts


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """How all parties train; guests are told what they need of it.

    Args:
        design, aggregation: which part is where.
        parts: sizes.
        training: epochs, batch size and rate.
        absent: what stands in for a guest that is silent: ``cache``, ``zeros`` or ``hybrid``.
        waits: repeat an epoch in which a guest fell silent when it is back, instead of going on without it.
        validation, test: shares of the common rows.
        seed: for experiments; None draws from the system.
    """

    design: str
    aggregation: str | None
    parts: TabNetParts
    training: Training
    absent: str = "cache"
    waits: bool = False
    validation: float = 0.15
    test: float = 0.15
    seed: int | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class HostRows:
    """What the host brings.

    Args:
        name: of the party, which is also that of its own columns.
        target: the column of the labels.
        labels: (rows,) class codes.
        classes: their names.
        frame: its own columns; None if it has the labels only.
        keys: who the rows are; None where files are in the same order.
    """

    name: str
    target: str
    labels: np.ndarray
    classes: tuple[str, ...]
    frame: pl.DataFrame | None
    keys: Keys | None


@dataclass(frozen=True, kw_only=True, eq=False)
class HostModel:
    """What the host has of the model.

    Args:
        host: its part.
        own: its own columns' part, if it has columns.
        columns: how those are read.
        split: the host's common rows, and which of them are for what.
        labels: (common rows,) class codes.
    """

    host: Host
    own: KeptGuest | None
    columns: Columns | None
    split: dict[str, np.ndarray]
    labels: np.ndarray
