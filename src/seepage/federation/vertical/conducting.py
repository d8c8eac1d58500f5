"""The host's way through two phases of epochs: early stopping, guests that come and go, a state that can go on."""

from __future__ import annotations

import time
from collections.abc import Set
from dataclasses import asdict, astuple

import numpy as np
import torch
from torch import Tensor

from seepage._core import InputError, Progress, Streams, silent
from seepage.federation.vertical.failures import Failures
from seepage.federation.vertical.host import EVALUATED, Host
from seepage.federation.vertical.messages import Instruction, Phase, SilentPartyError, Stamp
from seepage.federation.vertical.party import batches
from seepage.federation.vertical.schedule import Epoch, History, Training
from seepage.federation.vertical.state import States

SILENT_EPOCHS = 3  # a guest that does not answer for so long does not come back


class Conductor:
    """Lets a host train with guests that it knows by their messages only.

    Args:
        host: asks the guests, wherever they are.
        training: how to train.
        local: guests pretrain alone.
        failures: who is absent by chance. Those who really are silent take the same way.
        streams: of who is absent.
        given_up: seconds after which a guest that is silent for several epochs does not come back.
        waits: an epoch in which a guest fell silent is repeated when it is back, instead of going on without it. It
            needs states to go back to.
    """

    def __init__(
        self,
        host: Host,
        *,
        training: Training,
        local: bool,
        failures: Failures,
        streams: Streams,
        given_up: float = 0.0,
        waits: bool = False,
    ) -> None:
        self._host, self._training, self._local = host, training, local
        self._failures, self._streams, self._waits = failures, streams, waits
        self.history = History()
        self._silent: dict[str, tuple[int, float]] = {}  # epochs, and since when
        self._given_up = given_up

    def fit(
        self,
        train: np.ndarray,
        validation: np.ndarray,
        *,
        states: States | None = None,
        progress: Progress = silent,
    ) -> History:
        """Train on these rows; with patience, weights of the epoch with the lowest validation loss are kept.

        Args:
            train, validation: row numbers.
            states: where the state is saved after every epoch; a state that is there is continued.
        """
        if len(train) < 2 or len(validation) < 1:
            raise InputError(
                f"There are {len(train)} training and {len(validation)} validation rows; at least 2 and 1 are needed."
            )
        rows, held_out = torch.from_numpy(np.asarray(train)), torch.from_numpy(np.asarray(validation))
        if states is not None:
            self._resume(states)
        limits = {Phase.PRETRAINING: self._training.pretraining, Phase.FINETUNING: self._training.finetuning}
        for phase, limit in limits.items():
            if limit and not (phase == Phase.PRETRAINING and self.history.of(Phase.FINETUNING)):
                self._phase(phase, limit, (rows, held_out), states, progress)
        return self.history

    def _phase(
        self, phase: Phase, limit: int, rows: tuple[Tensor, Tensor], states: States | None, progress: Progress
    ) -> None:
        if not self.history.of(phase):
            self._host.tell(Instruction.BEGIN, Stamp(phase, 0, 0))
        while (epoch := len(self.history.of(phase))) < limit:
            if self.history.stopped(phase, self._training.patience):
                break
            absent = self._epoch(phase, epoch, *rows)
            if self._waits and states is not None and self._host.lost - absent:
                self._once_more(phase, states)
                continue
            if states is not None:
                self._save(states)
            self._check_alive(absent)
            last, best = self.history.epochs[-1], self.history.best(phase)
            assert best is not None
            note = f"validation {last.validation:.4f}, best {best.validation:.4f} at {best.number + 1}"
            progress(phase.value, epoch + 1, limit, note)
        self._host.welcome()
        self._host.tell(Instruction.RECALL, Stamp(phase, 0, 0))

    def _epoch(self, phase: Phase, epoch: int, rows: Tensor, held_out: Tensor) -> Set[str]:
        """One epoch; who was drawn to be absent in it."""
        begin = time.perf_counter()
        absent = self._failures.absent(self._host.guests, phase, epoch, self._streams)
        self._host.welcome(absent)
        if phase == Phase.PRETRAINING and self._local:
            loss = self._host.local_epoch(rows, Stamp(phase, epoch, 0))
            validation = self._host.local_epoch(held_out, Stamp(phase, epoch, 0, training=False))
        else:
            step = self._host.pretrain if phase == Phase.PRETRAINING else self._host.finetune

            def mean(parts: list[Tensor], training: bool) -> float:
                stamps = [Stamp(phase, epoch, number, training) for number in range(len(parts))]
                losses = [step(part, stamp) for part, stamp in zip(parts, stamps, strict=True)]
                return float(np.average(losses, weights=[len(part) for part in parts]))

            loss = mean(batches(rows, self._training.batch_size), True)
            validation = mean(list(torch.split(held_out, EVALUATED)), False)
        seconds = time.perf_counter() - begin
        gone = tuple(sorted(self._host.lost))
        self.history.epochs.append(Epoch(phase.value, epoch, loss, validation, seconds, gone))
        best = self.history.best(phase)
        if self._training.patience and best is not None and best.number == epoch:
            self._host.tell(Instruction.REMEMBER, Stamp(phase, epoch, 0))
        return absent

    def _once_more(self, phase: Phase, states: States) -> None:
        """Wait for who fell silent, and go back to where the epoch began."""
        gone = sorted(self._host.lost)
        states.wait(gone)
        if not self._resume(states):
            self.history = History()
            self._host.welcome()
            self._host.tell(Instruction.BEGIN, Stamp(phase, 0, 0))

    def _check_alive(self, absent: Set[str]) -> None:
        """Stop when a guest has been silent for many epochs in a row; the state is saved already."""
        now, known = time.monotonic(), self._silent
        silent = {name: known.get(name, (0, now)) for name in self._host.lost - absent}
        self._silent = {name: (epochs + 1, since) for name, (epochs, since) in silent.items()}
        gone = [
            name
            for name, (epochs, since) in self._silent.items()
            if epochs >= SILENT_EPOCHS and now - since >= self._given_up
        ]
        if gone:
            epochs = min(self._silent[name][0] for name in gone)
            raise SilentPartyError(
                f"Guest {', '.join(map(repr, gone))} has not answered for {epochs} epochs; the run stops. "
                "Start it again when the guest is back: it goes on from the last epoch."
            )

    def _save(self, states: States) -> None:
        last = self.history.epochs[-1]
        facts = {
            "epochs": [asdict(each) for each in self.history.epochs],
            "traffic": self._host.traffic.state(),
            "missed": {name: [[task, *astuple(at)] for task, at in told] for name, told in self._host.missed.items()},
        }
        stamp = Stamp(Phase(last.phase), last.number, 0)
        states.save(len(self.history.epochs), stamp, self._host, facts)

    def _resume(self, states: States) -> bool:
        """Go back to the state that was saved last, if there is one."""
        facts = states.load(self._host)
        if facts is None:
            return False
        if "traffic" in facts:  # states of earlier versions have none
            self._host.traffic.restore(facts["traffic"])
        self._host.missed = {
            name: [(Instruction(task), Stamp(Phase(phase), *at)) for task, phase, *at in told]
            for name, told in facts.get("missed", {}).items()
        }
        self.history = History([Epoch(**(each | {"absent": tuple(each["absent"])})) for each in facts["epochs"]])
        return True
