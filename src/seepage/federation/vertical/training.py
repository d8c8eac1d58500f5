"""Two phases of epochs with early stopping, and a state that survives a kill."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor

from seepage._core import InputError, Progress, Streams, silent
from seepage._core.names import HOST
from seepage.federation.vertical.channel import Channel, InProcess, Threads, Traffic
from seepage.federation.vertical.designs import Design, final_mapping
from seepage.federation.vertical.failures import Cache, Failures
from seepage.federation.vertical.guest import Guest
from seepage.federation.vertical.host import EVALUATED, Host
from seepage.federation.vertical.messages import Instruction, Phase, SilentPartyError, Stamp
from seepage.federation.vertical.party import batches
from seepage.federation.vertical.rows import AlignedRows
from seepage.federation.vertical.schedule import Epoch, History, Training
from seepage.federation.vertical.state import Checkpoint
from seepage.models import scoped_randomness
from seepage.models.tabnet_split import TabNetParts

Made = TypeVar("Made")
SILENT_EPOCHS = 3  # a guest that does not answer for so long does not come back


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
        self.training, self._streams, self._failures = training, streams, failures or Failures()
        self._local = design.local
        names, widths = rows.names, [each.shape[1] for each in rows.columns]
        top = _drawn(streams.child("party", HOST), lambda: design.top(parts, widths))
        self.guests = []
        for place, (name, columns) in enumerate(zip(names, rows.columns, strict=True)):
            own = streams.child("party", name)  # nobody's weights can be drawn from what another party has
            held = _drawn(own, partial(design.guest, parts, len(names), place, widths[place]))
            guest = Guest(
                name,
                columns,
                held.bottom,
                held.rebuild,
                training=training,
                shares_masks=top.needs_masks,
                streams=own,
            )
            self.guests.append(guest)
        reached = {guest.name: guest for guest in self.guests}
        self.channel: Channel = InProcess(reached, traffic) if limit is None else Threads(reached, limit, traffic)
        self.host = Host(
            top,
            _drawn(streams.child("party", HOST, "mapping"), lambda: final_mapping(parts.latent, rows.classes)),
            rows.labels,
            self.channel,
            Cache(len(rows.labels), self._failures.method),  # whoever is absent, drawn or really late
            training=training,
            objective=rows.objective,
        )
        self.history = History()
        self._silent: dict[str, int] = {}

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
        if len(train) < 2 or len(validation) < 1:
            raise InputError(
                f"There are {len(train)} training and {len(validation)} validation rows; at least 2 and 1 are needed."
            )
        rows, held_out = torch.from_numpy(np.asarray(train)), torch.from_numpy(np.asarray(validation))
        if checkpoint is not None:
            self._resume(checkpoint)
        limits = {Phase.PRETRAINING: self.training.pretraining, Phase.FINETUNING: self.training.finetuning}
        for phase, limit in limits.items():
            done = len(self.history.of(phase))
            if not limit or (phase == Phase.PRETRAINING and self.history.of(Phase.FINETUNING)):
                continue
            if done == 0:
                self.host.tell(Instruction.BEGIN, Stamp(phase, 0, 0))
            for epoch in range(done, limit):
                if self.history.stopped(phase, self.training.patience):
                    break
                self._epoch(phase, epoch, rows, held_out)
                if checkpoint is not None:
                    self._save(checkpoint)
                self._check_alive()
                last, best = self.history.epochs[-1], self.history.best(phase)
                assert best is not None
                note = f"validation {last.validation:.4f}, best {best.validation:.4f} at {best.number + 1}"
                progress(phase.value, epoch + 1, limit, note)
            self.host.lost.clear()
            self.host.tell(Instruction.RECALL, Stamp(phase, 0, 0))
        return self.history

    def _epoch(self, phase: Phase, epoch: int, rows: Tensor, held_out: Tensor) -> None:
        begin = time.perf_counter()
        self.host.lost.clear()
        absent = self._failures.absent(self.host.guests, phase, epoch, self._streams)
        if phase == Phase.PRETRAINING and self._local:
            loss = self.host.local_epoch(rows, Stamp(phase, epoch, 0))
            validation = self.host.local_epoch(held_out, Stamp(phase, epoch, 0, training=False))
        else:
            step = self.host.pretrain if phase == Phase.PRETRAINING else self.host.finetune

            def mean(parts: list[Tensor], training: bool) -> float:
                stamps = [Stamp(phase, epoch, number, training) for number in range(len(parts))]
                losses = [step(part, stamp, absent) for part, stamp in zip(parts, stamps, strict=True)]
                return float(np.average(losses, weights=[len(part) for part in parts]))

            loss = mean(batches(rows, self.training.batch_size), True)
            validation = mean(list(torch.split(held_out, EVALUATED)), False)
        seconds = time.perf_counter() - begin
        gone = tuple(sorted(absent | self.host.lost))
        self.history.epochs.append(Epoch(phase.value, epoch, loss, validation, seconds, gone))
        best = self.history.best(phase)
        if self.training.patience and best is not None and best.number == epoch:
            self.host.tell(Instruction.REMEMBER, Stamp(phase, epoch, 0))

    def _check_alive(self) -> None:
        """Stop when a guest has been silent for many epochs in a row; the state is saved already."""
        self._silent = {name: self._silent.get(name, 0) + 1 for name in self.host.lost}
        gone = [name for name, epochs in self._silent.items() if epochs >= SILENT_EPOCHS]
        if gone:
            raise SilentPartyError(
                f"Guest {', '.join(map(repr, gone))} has not answered for {SILENT_EPOCHS} epochs; the run stops. "
                "Start it again when the guest is back: it goes on from the last epoch."
            )

    def _save(self, checkpoint: Checkpoint) -> None:
        parties = {guest.name: guest.learning.state() for guest in self.guests}
        parties["host"] = self.host.learning.state() | self.host.cache.state()
        facts = {"epochs": [asdict(each) for each in self.history.epochs], "traffic": self.channel.traffic.state()}
        checkpoint.save(len(self.history.epochs), parties, facts)

    def _resume(self, checkpoint: Checkpoint) -> None:
        found = checkpoint.load([guest.name for guest in self.guests] + ["host"])
        if found is None:
            return
        parties, facts = found
        for guest in self.guests:
            guest.learning.restore(parties[guest.name])
        cached = {name: value for name, value in parties["host"].items() if name.startswith("cache.")}
        self.host.learning.restore({name: value for name, value in parties["host"].items() if name not in cached})
        self.host.cache.restore(cached)
        if "traffic" in facts:  # states of earlier versions have none
            self.channel.traffic.restore(facts["traffic"])
        self.history = History([Epoch(**(each | {"absent": tuple(each["absent"])})) for each in facts["epochs"]])


def _drawn(streams: Streams, make: Callable[[], Made]) -> Made:
    """Modules with weights of their own: pytorch-tabnet's parts draw from torch's generator."""
    with scoped_randomness(streams.integer("weights")):
        return make()
