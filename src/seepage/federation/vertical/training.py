"""A host and its guests in one process: what crosses are the messages that would cross a network."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeVar

import numpy as np

from seepage._core import Progress, Streams, silent
from seepage._core.names import HOST
from seepage.federation.vertical.channel import Channel, InProcess, Threads, Traffic
from seepage.federation.vertical.conducting import Conductor
from seepage.federation.vertical.defended import defended_channel, defended_guest
from seepage.federation.vertical.designs import Design, final_mapping
from seepage.federation.vertical.failures import Cache, Failures
from seepage.federation.vertical.guest import Guest
from seepage.federation.vertical.host import Host
from seepage.federation.vertical.rows import AlignedRows
from seepage.federation.vertical.schedule import History, Training
from seepage.federation.vertical.state import Checkpoint, Together
from seepage.models import scoped_randomness
from seepage.models.tabnet_split import TabNetParts

Made = TypeVar("Made")


class Federation:
    """A host and its guests in one process.

    Args:
        rows: everyone's, aligned.
        design: which part is where.
        parts: sizes of TabNet's parts.
        training: how to train.
        failures: who is absent by chance, and what stands in for anybody who is absent or late.
        streams: of all randomness.
        traffic: counts what crosses.
        limit: seconds to wait for a guest's answer, each guest in a thread of its own; without it a call is a function
            call.
    """

    def __init__(
        self,
        rows: AlignedRows,
        *,
        design: Design,
        parts: TabNetParts,
        training: Training,
        streams: Streams,
        failures: Failures | None = None,
        traffic: Traffic | None = None,
        limit: float | None = None,
    ) -> None:
        failures = failures or Failures()
        self.rows, self.design, self.parts = rows, design, parts
        self.training, self.failures, self.streams = training, failures, streams
        names, widths = rows.names, [each.shape[1] for each in rows.columns]
        top = drawn(streams.child("party", HOST), lambda: design.top(parts, widths))
        self.guests = []
        for place, (name, columns) in enumerate(zip(names, rows.columns, strict=True)):
            own = streams.child("party", name)  # nobody's weights can be drawn from what another party has
            held = drawn(own, partial(design.guest, parts, len(names), place, widths[place]))
            guest = Guest(
                name,
                columns,
                held.bottom,
                held.rebuild,
                training=training,
                shares_masks=held.shares_masks,
                streams=own,
            )
            self.guests.append(guest)
        reached = {guest.name: defended_guest(guest, training.defense, streams) for guest in self.guests}
        self.channel: Channel = InProcess(reached, traffic) if limit is None else Threads(reached, limit, traffic)
        self.host = Host(
            top,
            drawn(streams.child("party", HOST, "mapping"), lambda: final_mapping(parts.latent, rows.classes)),
            rows.labels,
            defended_channel(self.channel, training.defense, streams),
            Cache(len(rows.labels), failures.method),  # whoever is absent, drawn or really late
            training=training,
            objective=rows.objective,
        )
        self._conductor = Conductor(
            self.host, training=training, local=design.local, failures=failures, streams=streams
        )

    @property
    def history(self) -> History:
        """All epochs so far."""
        return self._conductor.history

    def fit(
        self,
        train: np.ndarray,
        validation: np.ndarray,
        *,
        checkpoint: Checkpoint | None = None,
        progress: Progress = silent,
    ) -> History:
        """Train on these rows; with patience, weights of the epoch with the lowest validation loss are kept.

        Args:
            train, validation: row numbers.
            checkpoint: where the state is saved after every epoch; a state that is there is continued.
        """
        states = None
        if checkpoint is not None:
            states = Together(checkpoint, {guest.name: guest.learning for guest in self.guests})
        return self._conductor.fit(train, validation, states=states, progress=progress)


def drawn(streams: Streams, make: Callable[[], Made]) -> Made:
    """Modules with weights of their own: pytorch-tabnet's parts draw from torch's generator."""
    with scoped_randomness(streams.integer("weights")):
        return make()
