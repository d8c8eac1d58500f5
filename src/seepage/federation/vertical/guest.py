"""A guest: it owns its columns and its bottom model, and answers what the host asks."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from seepage._core import Streams
from seepage.federation.vertical.messages import Instruction, Kind, Message, PartyError, Phase, Stamp
from seepage.federation.vertical.party import Learning, batches
from seepage.federation.vertical.schedule import Training
from seepage.models.tabnet_split import obfuscated

FLOOR = 1e-3  # of a column's variance in a batch; a category that one row in a thousand has is at it


class Guest:
    """One party with columns.

    Args:
        name: of the party.
        columns: (rows, width) its encoded columns. They never leave this object.
        bottom: computes intermediate results from columns, masks (or None) and the phase, and the sparsity of its own
            attention if it has one.
        rebuild: from a decoder chunk to its own columns; None if nothing is rebuilt here.
        training: rate and clip of its optimiser, what is hidden while pretraining, the weight of the attention's
            sparsity where the attention is here, the batch size of local pretraining.
        shares_masks: tell the host which entries are hidden.
        streams: for the masks.
    """

    def __init__(
        self,
        name: str,
        columns: Tensor,
        bottom: nn.Module,
        rebuild: nn.Module | None,
        *,
        training: Training,
        shares_masks: bool,
        streams: Streams,
    ) -> None:
        self.name = name
        self._columns = columns
        self._shares_masks = shares_masks
        self._hidden, self._sparsity, self.streams = training.hidden, training.sparsity, streams
        self._batch_size = training.batch_size
        self.learning = Learning({"bottom": bottom, "rebuild": rebuild}, training.rate, training.clip)
        self._bottom, self._rebuild = bottom, rebuild
        self._pending: _Pending | None = None
        self._answers: dict[Instruction, Callable[[Message], Message]] = {
            Instruction.COMPUTE: self._compute,
            Instruction.REBUILD: self._rebuilt,
            Instruction.LEARN: self._learn,
            Instruction.PRETRAIN: self._pretrain,
            Instruction.BEGIN: self._begin,
            Instruction.REMEMBER: self._remember,
            Instruction.RECALL: self._recall,
        }

    def load(self, columns: Tensor) -> None:
        """Take other rows, for instance new people to predict."""
        self._columns = columns
        self._pending = None

    @property
    def width(self) -> int:
        """Encoded columns."""
        return self._columns.shape[1]

    def respond(self, message: Message) -> Message:
        """Answer the host."""
        return self._answers[message.task](message)

    def _compute(self, message: Message) -> Message:
        stamp = message.stamp
        rows = self._rows(message)
        x = self._columns[rows]
        self.learning.train(stamp.training)
        self.learning.forget()  # whatever an interrupted batch left
        masks = self._masks(stamp, x) if stamp.phase == Phase.PRETRAINING and stamp.training else None
        with torch.set_grad_enabled(stamp.training):
            values, sparsity = self._bottom(x if masks is None else (1 - masks) * x, masks, stamp.phase)
        self._pending = _Pending(stamp, x, masks, values, sparsity)
        payload = {Kind.INTERMEDIATE: values.detach()}
        if masks is not None and self._shares_masks:
            payload[Kind.MASK] = masks.to(torch.bool)
        return message.answer(payload)

    def _rebuilt(self, message: Message) -> Message:
        pending = self._waiting(message)
        assert self._rebuild is not None
        chunk = message.payload[Kind.CHUNK].detach().requires_grad_(message.stamp.training)
        with torch.set_grad_enabled(message.stamp.training):
            loss = _loss(self._rebuild(chunk), pending.x, pending.masks)
        payload = {Kind.LOSS: loss.detach().reshape(1)}
        if message.stamp.training:
            torch.autograd.backward(loss)
            assert chunk.grad is not None
            payload[Kind.GRADIENT] = chunk.grad
        return message.answer(payload)

    def _learn(self, message: Message) -> Message:
        pending = self._waiting(message)
        gradient = message.payload[Kind.GRADIENT]
        if gradient.shape != pending.values.shape:
            raise PartyError(
                f"Party {self.name!r} was sent gradients of shape {tuple(gradient.shape)}; "
                f"its intermediate results have {tuple(pending.values.shape)}."
            )
        outputs, gradients = [pending.values], [gradient]
        if pending.sparsity is not None:
            outputs.append(pending.sparsity)
            gradients.append(torch.full_like(pending.sparsity, -self._sparsity))
        torch.autograd.backward(outputs, gradients)
        self.learning.step()
        self._pending = None
        return message.answer()

    def _pretrain(self, message: Message) -> Message:
        """One epoch on its own: nothing but the loss leaves."""
        assert self._rebuild is not None
        stamp, total, count = message.stamp, 0.0, 0
        self.learning.train(stamp.training)
        for number, rows in enumerate(batches(self._rows(message), self._batch_size)):
            x = self._columns[rows]
            masks = self._masks(Stamp(stamp.phase, stamp.epoch, number), x) if stamp.training else None
            with torch.set_grad_enabled(stamp.training):
                values, _ = self._bottom(x if masks is None else (1 - masks) * x, masks, stamp.phase)
                loss = _loss(self._rebuild(values), x, masks)
            if stamp.training:
                torch.autograd.backward(loss)
                self.learning.step()
            total, count = total + float(loss.detach()) * len(x), count + len(x)
        return message.answer({Kind.LOSS: torch.tensor([total / count])})

    def _begin(self, message: Message) -> Message:
        self.learning.restart()
        self._pending = None
        return message.answer()

    def _remember(self, message: Message) -> Message:
        self.learning.remember()
        return message.answer()

    def _recall(self, message: Message) -> Message:
        self.learning.recall()
        return message.answer()

    def _rows(self, message: Message) -> Tensor:
        rows = message.payload[Kind.BATCH_IDS].long()
        if not len(rows) or int(rows.min()) < 0 or int(rows.max()) >= len(self._columns):
            raise PartyError(
                f"Party {self.name!r} was asked for rows that it does not have; it has {len(self._columns)}."
            )
        return rows

    def _masks(self, stamp: Stamp, x: Tensor) -> Tensor:
        return drawn_mask(self.streams, self.name, stamp, (len(x), x.shape[1]), self._hidden)

    def _waiting(self, message: Message) -> _Pending:
        if self._pending is None or self._pending.stamp != message.stamp:
            at = "no batch" if self._pending is None else str(self._pending.stamp)
            raise PartyError(f"Party {self.name!r} got {message.task.value!r} for {message.stamp}; it works on {at}.")
        return self._pending


def drawn_mask(streams: Streams, name: str, stamp: Stamp, shape: tuple[int, int], hidden: float) -> Tensor:
    """(rows, columns) what a guest hides of a batch."""
    seed = streams.integer("masks", name, stamp.epoch, stamp.batch)
    return obfuscated(shape, hidden, torch.Generator().manual_seed(seed))


class _Pending:
    """A batch between the way forward and the way back."""

    def __init__(self, stamp: Stamp, x: Tensor, masks: Tensor | None, values: Tensor, sparsity: Tensor | None) -> None:
        self.stamp, self.x, self.masks, self.values, self.sparsity = stamp, x, masks, values, sparsity


def _loss(rebuilt: Tensor, x: Tensor, masks: Tensor | None) -> Tensor:
    """The squared error of the hidden entries in units of each column's variance in the batch (Eq. 3.13).

    NOTE[DIFF] Eq. 3.13 is a sum; this is the mean over entries and rows, as in pytorch-tabnet, which the thesis used.
    NOTE[DIFF] A column that is constant in a batch up to rounding has a variance of 1e-18 or so, and pytorch-tabnet's
    loss becomes infinite there, or negative where it puts the mean for it. Variances below FLOOR count as FLOOR.
    """
    hidden = torch.ones_like(x) if masks is None else masks
    errors = ((rebuilt - x) * hidden).square() / x.var(0, correction=min(1, len(x) - 1)).clamp(min=FLOOR)
    return (errors.sum(1) / (hidden.sum(1) + 1e-9)).mean()
