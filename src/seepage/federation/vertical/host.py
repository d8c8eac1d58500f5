"""The host: it owns the labels and the top model, and drives the mini batches."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from seepage._core.names import HOST
from seepage.federation.vertical.channel import Channel, Traffic
from seepage.federation.vertical.designs import Top
from seepage.federation.vertical.failures import Cache
from seepage.federation.vertical.messages import (
    Instruction,
    Kind,
    Message,
    PartyError,
    Phase,
    Stamp,
    opened,
)
from seepage.federation.vertical.objective import CrossEntropy, Objective
from seepage.federation.vertical.party import Learning
from seepage.federation.vertical.schedule import Training

EVALUATED = 4096  # rows of a batch where nothing is learned


@dataclass(frozen=True, eq=False)
class _Gathered:
    """What the guests sent for a batch, or what stands in for it.

    Args:
        values: leaves of the host's graph.
        present: places of the guests that are there.
    """

    values: list[Tensor]
    masks: list[Tensor]
    present: list[int]


class Host:
    """The label owner.

    Args:
        top: its part of the model.
        mapping: its last layer, from the latent to the classes, or to a number.
        labels: (rows,) of the aligned rows. They never leave this object.
        channel: the way to the guests.
        cache: stands in for guests that are absent.
        training: rate and clip of its optimiser, and the weight of the attention's sparsity. Algorithm 2 subtracts the
            mean of M log M, which is negative, and Eq. 3.17 adds the entropy -M log M: the same thing. Sparse masks
            have low entropy, so a positive weight makes masks sparse.
        objective: what its outputs are judged by.
    """

    def __init__(
        self,
        top: Top,
        mapping: nn.Module,
        labels: Tensor,
        channel: Channel,
        cache: Cache,
        *,
        training: Training,
        objective: Objective | None = None,
    ) -> None:
        self._top, self._labels, self._channel, self.cache = top, labels, channel, cache
        self._sparsity, self._objective = training.sparsity, objective or CrossEntropy()
        self._mapping = mapping
        self.learning = Learning({"top": top.module, "mapping": self._mapping}, training.rate, training.clip)
        self.lost: set[str] = set()  # guests that are absent from this epoch, or fell silent in it
        self.missed: dict[str, list[tuple[Instruction, Stamp]]] = {}  # what they were told in the meantime

    @property
    def guests(self) -> tuple[str, ...]:
        """Names of the guests."""
        return self._channel.guests

    @property
    def traffic(self) -> Traffic:
        """What crossed so far."""
        return self._channel.traffic

    def welcome(self, absent: Set[str] = frozenset()) -> None:
        """A new epoch: everybody but these is asked again. Who was away is told first what it missed."""
        self._channel.refresh()
        self.lost = set(absent)
        for guest in [guest for guest in self.missed if guest not in self.lost]:
            missed = self.missed[guest]
            while missed and self._ask(*missed[0], {guest: {}}):
                del missed[0]
            if not missed:
                del self.missed[guest]

    def tell(self, task: Instruction, stamp: Stamp) -> None:
        """Tell all guests that are there, and the others when they are back; the host does the same itself."""
        own = self.learning
        {Instruction.BEGIN: own.restart, Instruction.REMEMBER: own.remember, Instruction.RECALL: own.recall}[task]()
        if task == Instruction.BEGIN:
            self.cache.clear()
        self._ask(task, stamp, {key: {} for key in self.guests})
        for guest in self.lost:
            self.missed.setdefault(guest, []).append((task, stamp))

    def ask_all(self, task: Instruction, stamp: Stamp) -> dict[str, Message]:
        """Ask all guests that are there; nobody is told later what it missed of this."""
        return self._ask(task, stamp, {key: {} for key in self.guests})

    def pretrain(self, rows: Tensor, stamp: Stamp) -> float:
        """One batch of Algorithm 1; the accumulated loss of the guests that are there."""
        training = stamp.training
        self.learning.train(training)
        gathered = self._gather(rows, stamp)
        with torch.set_grad_enabled(training):
            chunks = self._top.chunks(self._top.steps(gathered.values, gathered.masks))
        total, outputs, gradients = 0.0, [], []
        asked = {self.guests[place]: {Kind.CHUNK: chunks[place].detach()} for place in gathered.present}
        for guest, answer in self._ask(Instruction.REBUILD, stamp, asked).items():
            chunk = chunks[self.guests.index(guest)]
            shapes: dict[Kind, tuple[int, ...]] = {Kind.LOSS: (1,)}
            if training:
                shapes[Kind.GRADIENT] = tuple(chunk.shape)
            loss, *gradient = opened(answer, Instruction.REBUILD, stamp, shapes)
            total += _finite(float(loss), guest, stamp)
            outputs += [chunk] if training else []
            gradients += gradient
        if training and outputs:
            torch.autograd.backward(outputs, gradients)
            self._teach(gathered, stamp)
        return total

    def finetune(self, rows: Tensor, stamp: Stamp) -> float:
        """One batch of Algorithm 2; its loss."""
        self.learning.train(stamp.training)
        gathered = self._gather(rows, stamp)
        with torch.set_grad_enabled(stamp.training):
            latent, sparsity = self._top.latent(gathered.values)
            error = self._objective.loss(self._mapping(latent), self._labels[rows], rows)
            loss = error if sparsity is None else error - self._sparsity * sparsity
        if stamp.training:
            torch.autograd.backward(loss)
            self._teach(gathered, stamp)
            return _finite(float(loss.detach()), HOST, stamp)
        return float(error)

    def local_epoch(self, rows: Tensor, stamp: Stamp) -> float:
        """Let every guest pretrain on its own for an epoch; the sum of their losses."""
        answers = self._ask(Instruction.PRETRAIN, stamp, {key: {Kind.BATCH_IDS: rows.int()} for key in self.guests})
        losses = {
            guest: opened(each, Instruction.PRETRAIN, stamp, {Kind.LOSS: (1,)})[0] for guest, each in answers.items()
        }
        return sum(_finite(float(loss), name, stamp) for name, loss in losses.items())

    def latent(self, rows: Tensor, absent: Set[str] = frozenset()) -> Tensor:
        """(rows, latent) with the model as it is now; absent guests are stood in for."""
        self.learning.train(False)
        found = []
        for number, part in enumerate(torch.split(rows, EVALUATED)):
            stamp = Stamp(Phase.FINETUNING, 0, number, training=False)
            with torch.no_grad():
                found.append(self._top.latent(self._gather(part, stamp, absent).values)[0])
        return torch.cat(found)

    def logits(self, latent: Tensor) -> Tensor:
        """(rows, classes) from latents; (rows, 1) for a number."""
        with torch.no_grad():
            mapped: Tensor = self._mapping(latent)
        return mapped

    def predict(self, values: Sequence[Tensor]) -> Tensor:
        """(rows, outputs) from all guests' intermediate results, with the model as it is now."""
        mapped: Tensor = self._mapping(self._top.latent(values)[0])
        return mapped

    def state(self) -> dict[str, Tensor]:
        """Everything that is needed to go on."""
        return self.learning.state() | self.cache.state()

    def restore(self, state: dict[str, Tensor]) -> None:
        """Go on from a saved state."""
        cached = {name: value for name, value in state.items() if name.startswith("cache.")}
        self.learning.restore({name: value for name, value in state.items() if name not in cached})
        self.cache.restore(cached)

    def _gather(self, rows: Tensor, stamp: Stamp, absent: Set[str] = frozenset()) -> _Gathered:
        values, masks, present = [], [], []
        there = [guest for guest in self.guests if guest not in absent]
        answers = self._ask(Instruction.COMPUTE, stamp, {key: {Kind.BATCH_IDS: rows.int()} for key in there})
        masked = stamp.phase == Phase.PRETRAINING and stamp.training and self._top.needs_masks
        for place, guest in enumerate(self.guests):
            width = self._top.value_width(place, stamp.phase)
            answer = answers.get(guest)
            if answer is None:
                value, mask = self.cache.get(guest, rows, width)
            else:
                shapes: dict[Kind, tuple[int, ...]] = {Kind.INTERMEDIATE: (len(rows), width)}
                if masked:
                    shapes[Kind.MASK] = (len(rows), width)
                value, *sent = opened(answer, Instruction.COMPUTE, stamp, shapes)
                mask = sent[0] if sent else torch.zeros(len(rows), width, dtype=torch.bool)
                self.cache.put(guest, rows, value, sent[0] if sent else None)
                value = value.requires_grad_(stamp.training)
                present.append(place)
            values.append(value)
            masks.append(mask)
        return _Gathered(values, masks, present)

    def _teach(self, gathered: _Gathered, stamp: Stamp) -> None:
        """Update the host, and send the guests their gradients."""
        self.learning.step()
        gradients = {self.guests[place]: gathered.values[place].grad for place in gathered.present}
        self._ask(
            Instruction.LEARN,
            stamp,
            {guest: {Kind.GRADIENT: value} for guest, value in gradients.items() if value is not None},
        )

    def _ask(
        self, task: Instruction, stamp: Stamp, payloads: Mapping[str, Mapping[Kind, Tensor]]
    ) -> dict[str, Message]:
        """The answers of guests, all asked at once; one that is silent is not asked again in this epoch."""
        asked = [guest for guest in payloads if guest not in self.lost]
        answers = self._channel.request_all([Message(HOST, each, task, stamp, payloads[each]) for each in asked])
        self.lost |= {guest for guest, answer in zip(asked, answers, strict=True) if answer is None}
        return {guest: answer for guest, answer in zip(asked, answers, strict=True) if answer is not None}


def _finite(loss: float, party: str, stamp: Stamp) -> float:
    """Stop when training has diverged: whatever comes after is worth nothing."""
    if not math.isfinite(loss):
        raise PartyError(f"The loss of party {party!r} is {loss} at {stamp}: training diverged; use a lower rate.")
    return loss
