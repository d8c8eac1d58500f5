"""What each party received, kept from the messages that crossed: a listener of :class:`Traffic`."""

from __future__ import annotations

import numpy as np

from seepage._core.names import HOST
from seepage.federation.vertical.messages import Instruction, Kind, Message
from seepage.observation.parties import AFTER, Received


class Recorder:
    """Keeps the tensors that cross, each with the rows that it is about. It keeps no columns and no labels.

    Args:
        epochs: of each phase, the last ones of which tensors are kept. While a run trains, earlier ones are dropped.

    Example:
        >>> from seepage.federation.vertical import Traffic
        >>> traffic = Traffic(listener=Recorder(epochs=2))
    """

    def __init__(self, *, epochs: int = 10) -> None:
        self._epochs, self._after = epochs, False
        self._kept: list[tuple[str, Received]] = []  # with the receiver
        self._asked: dict[str, np.ndarray] = {}  # the rows that a guest was asked for last

    def __call__(self, message: Message) -> None:
        """Take one message."""
        guest = message.receiver if message.sender == HOST else message.sender
        if Kind.BATCH_IDS in message.payload:
            self._asked[guest] = message.payload[Kind.BATCH_IDS].numpy().astype(np.int64)
        if message.task == Instruction.PRETRAIN:
            return
        stamp = message.stamp
        for kind, values in message.payload.items():
            if kind in (Kind.BATCH_IDS, Kind.LOSS):  # the rows are told with every tensor; a loss is about no row
                continue
            received = Received(
                sender=message.sender,
                kind=kind.value,
                phase=AFTER if self._after else stamp.phase.value,
                epoch=stamp.epoch,
                training=stamp.training,
                rows=self._asked[guest],
                values=values.detach().numpy().copy(),
            )
            self._drop(received)
            self._kept.append((message.receiver, received))

    def trained(self) -> None:
        """Training is over: what crosses from now on are predictions of one model."""
        self._after = True

    def received(self, by: str, of: str) -> list[Received]:
        """What one party got of another, in its order."""
        return [each for receiver, each in self._kept if receiver == by and each.sender == of]

    def _drop(self, newest: Received) -> None:
        """Leave out what is older than the epochs that are kept."""
        if newest.phase == AFTER or (self._kept and _when(self._kept[-1][1]) == _when(newest)):
            return
        self._kept = [
            (receiver, each)
            for receiver, each in self._kept
            if each.phase != newest.phase or each.epoch > newest.epoch - self._epochs
        ]


def _when(received: Received) -> tuple[str, int]:
    return received.phase, received.epoch
