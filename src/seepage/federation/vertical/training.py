"""Two phases of epochs with early stopping, and a state that survives a kill."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field

import numpy as np
import torch
from torch import Tensor

from seepage._core import InputError, Progress, Streams, silent
from seepage.federation.vertical.channel import Channel, InProcess, Threads, Traffic
from seepage.federation.vertical.designs import Built, Design
from seepage.federation.vertical.failures import Cache, Failures
from seepage.federation.vertical.guest import Guest
from seepage.federation.vertical.host import EVALUATED, Host
from seepage.federation.vertical.messages import Phase, SilentPartyError, Stamp, Task
from seepage.federation.vertical.party import batches
from seepage.federation.vertical.state import Checkpoint
from seepage.models import scoped_randomness
from seepage.models.tabnet_split import TabNetParts

SILENT_EPOCHS = 3  # a guest that does not answer for so long does not come back


@dataclass(frozen=True, kw_only=True)
class Training:
    """How a federation trains.

    Document 004 does not state the optimiser, its rate, the hidden share, the sparsity weight or the patience; these
    are pytorch-tabnet's defaults.

    Args:
        pretraining, finetuning: epochs at most; 0 leaves a phase out.
        batch_size: rows of a mini batch; the order of rows is fixed, as in document 004.
        rate: of Adam.
        clip: largest norm of a party's gradient.
        hidden: share of entries hidden while pretraining.
        sparsity: weight of the attention's entropy while fine-tuning.
        patience: epochs without a better validation loss before a phase stops, and the best weights return; 0 trains
            to the end and keeps the last weights.
    """

    pretraining: int = 100
    finetuning: int = 100
    batch_size: int = 512
    rate: float = 0.02
    clip: float = 1.0
    hidden: float = 0.2
    sparsity: float = 1e-3
    patience: int = 10

    def __post_init__(self) -> None:
        if self.batch_size < 2:
            raise InputError(f"The batch size is {self.batch_size}; BatchNorm needs at least 2 rows in a batch.")
        if min(self.pretraining, self.finetuning) < 0 or self.pretraining + self.finetuning < 1:
            raise InputError("There must be at least one epoch of pretraining or of fine-tuning.")
        if not 0 < self.hidden < 1:
            raise InputError(f"The hidden share is {self.hidden}; it must lie between 0 and 1.")


@dataclass(frozen=True)
class Epoch:
    """What one epoch gave."""

    phase: str
    number: int
    loss: float
    validation: float
    seconds: float
    absent: tuple[str, ...] = ()


@dataclass
class History:
    """All epochs, and where each phase was best."""

    epochs: list[Epoch] = field(default_factory=list)

    def of(self, phase: Phase) -> list[Epoch]:
        """The epochs of a phase."""
        return [epoch for epoch in self.epochs if epoch.phase == phase.value]

    def best(self, phase: Phase) -> Epoch | None:
        """The epoch whose weights were kept."""
        return min(self.of(phase), key=lambda epoch: epoch.validation, default=None)

    def stopped(self, phase: Phase, patience: int) -> bool:
        """Whether the phase has waited long enough for something better."""
        best = self.best(phase)
        return patience > 0 and best is not None and self.of(phase)[-1].number - best.number >= patience


class Federation:
    """A host and its guests in one process.

    Args:
        names: of the guests.
        columns: (rows, width) encoded columns of each guest; rows are aligned.
        labels: (rows,) class codes, at the host.
        classes: how many.
        design: which part is where.
        parts: sizes of TabNet's parts.
        training: how to train.
        failures: who is absent, and what stands in.
        streams: of all randomness.
        traffic: counts what crosses.
        limit: seconds to wait for a guest's answer, each guest in a thread of its own; without it a call is a function
            call.
    """

    def __init__(
        self,
        names: Sequence[str],
        columns: Sequence[Tensor],
        labels: Tensor,
        classes: int,
        *,
        design: Design,
        parts: TabNetParts,
        training: Training,
        streams: Streams,
        failures: Failures | None = None,
        traffic: Traffic | None = None,
        limit: float | None = None,
    ) -> None:
        check_parties(names, columns, labels, classes)
        self.training, self._streams, self._failures = training, streams, failures or Failures()
        with scoped_randomness(streams.integer("weights")):  # pytorch-tabnet's parts draw from torch's own generator
            built = design.build(parts, [each.shape[1] for each in columns])
            self._built: Built = built
            self.guests = [
                Guest(
                    name,
                    x,
                    bottom,
                    rebuild,
                    rate=training.rate,
                    clip=training.clip,
                    hidden=training.hidden,
                    sparsity=training.sparsity,
                    batch_size=training.batch_size,
                    shares_masks=built.top.needs_masks,
                    streams=streams,
                )
                for name, x, bottom, rebuild in zip(names, columns, built.bottoms, built.rebuilds, strict=True)
            ]
            reached = {guest.name: guest for guest in self.guests}
            self.channel: Channel = InProcess(reached, traffic) if limit is None else Threads(reached, limit, traffic)
            self.host = Host(
                built.top,
                labels,
                classes,
                self.channel,
                Cache(len(labels), "zeros" if self._failures.probability == 0 else self._failures.method),
                latent=parts.latent,
                rate=training.rate,
                clip=training.clip,
                sparsity=training.sparsity,
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
                self.host.tell(Task.BEGIN, Stamp(phase, 0, 0))
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
            self.host.tell(Task.RECALL, Stamp(phase, 0, 0))
        return self.history

    def _epoch(self, phase: Phase, epoch: int, rows: Tensor, held_out: Tensor) -> None:
        begin = time.perf_counter()
        self.host.lost.clear()
        absent = self._failures.absent(self.host.guests, phase, epoch, self._streams)
        if phase == Phase.PRETRAINING and self._built.local:
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
            self.host.tell(Task.REMEMBER, Stamp(phase, epoch, 0))

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
        checkpoint.save(len(self.history.epochs), parties, {"epochs": [asdict(each) for each in self.history.epochs]})

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
        self.history = History([Epoch(**(each | {"absent": tuple(each["absent"])})) for each in facts["epochs"]])


def check_parties(names: Sequence[str], columns: Sequence[Tensor], labels: Tensor, classes: int) -> None:
    """Stop at parties that cannot train together."""
    if not names:
        raise InputError("There is no guest; at least one party with columns is needed.")
    if len(set(names)) != len(names):
        raise InputError(f"Two guests have the same name: {', '.join(sorted(names))}.")
    for name, x in zip(names, columns, strict=True):
        if x.shape[1] == 0:
            raise InputError(f"Guest {name!r} has no columns.")
        if len(x) != len(labels):
            raise InputError(f"Guest {name!r} has {len(x)} rows, the host has {len(labels)} labels; align them first.")
        if not bool(torch.isfinite(x).all()):
            raise InputError(f"Guest {name!r} has cells that are NaN or infinite.")
    if classes < 2:
        raise InputError(f"The labels have {classes} class; at least 2 are needed.")
