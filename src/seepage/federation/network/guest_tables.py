"""What a guest brings, and the part of the model that it builds from what the host says."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass

import polars as pl
from torch import Tensor

from seepage._core import Streams
from seepage.data.row_keys import AS_WRITTEN, KeyFormat
from seepage.federation.network.arranging import SetUp
from seepage.federation.vertical import Guest, make_design
from seepage.federation.vertical.training import drawn


@dataclass(frozen=True, kw_only=True)
class GuestTables:
    """What a guest brings.

    Args:
        name: of the guest.
        host: of the party that may ask.
        training: reads the table to train on.
        new: reads the table of new people to predict.
        keys: columns that say who a row is.
        form: how keys are written.
        most: keys that the host may ask about.
        seed: for experiments; None draws weights and masks from the system.
    """

    name: str
    host: str
    training: Callable[[], pl.DataFrame]
    new: Callable[[], pl.DataFrame] | None = None
    keys: tuple[str, ...] = ()
    form: KeyFormat = AS_WRITTEN
    most: int = 10_000_000
    seed: int | None = None


def built_guest(name: str, facts: SetUp, encoded: Tensor, seed: int | None) -> Guest:
    """A guest's part of the model. Without a seed its weights and masks are drawn from the system's generator."""
    design = make_design(facts.design, facts.aggregation)
    own = Streams(secrets.randbits(63) if seed is None else seed).child("party", name)
    held = drawn(own, lambda: design.guest(facts.parts.parts, facts.guests, facts.place, encoded.shape[1]))
    return Guest(
        name,
        encoded,
        held.bottom,
        held.rebuild,
        training=facts.schedule.training,
        shares_masks=held.shares_masks,
        streams=own,
    )
