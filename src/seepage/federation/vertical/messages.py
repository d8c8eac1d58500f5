"""All that crosses between parties: typed messages. There is no kind for raw columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from torch import Tensor

from seepage._core import InputError


class Kind(StrEnum):
    """What a tensor in a message is."""

    BATCH_IDS = "batch ids"
    INTERMEDIATE = "intermediate results"
    MASK = "masks"
    CHUNK = "decoder chunks"
    LOSS = "losses"
    GRADIENT = "gradients"


class Instruction(StrEnum):
    """What the host asks of a guest."""

    COMPUTE = "compute"  # batch ids -> intermediate results (and masks while pretraining)
    REBUILD = "rebuild"  # decoder chunk -> loss and, while training, the chunk's gradient
    LEARN = "learn"  # gradient of the intermediate results -> done
    PRETRAIN = "pretrain"  # batch ids of an epoch -> loss: local pretraining, nothing else leaves the guest
    BEGIN = "begin"  # a phase begins
    REMEMBER = "remember"  # keep these weights as the best so far
    RECALL = "recall"  # go back to them
    SAVE = "save"  # keep the state of the end of this epoch
    RESTORE = "restore"  # go back to the state of the end of this epoch


class Phase(StrEnum):
    """The two phases of training."""

    PRETRAINING = "pretraining"
    FINETUNING = "fine-tuning"


@dataclass(frozen=True)
class Stamp:
    """Which batch a message belongs to, so that a guest that returns continues on the right one.

    Args:
        training: False for validation and inference.
    """

    phase: Phase
    epoch: int
    batch: int
    training: bool = True

    def __str__(self) -> str:
        use = "" if self.training else " (evaluation)"
        return f"{self.phase} epoch {self.epoch} batch {self.batch}{use}"


@dataclass(frozen=True, eq=False)
class Message:
    """One message.

    Args:
        sender, receiver: names of parties.
        task: what is asked, or what is answered.
        stamp: the batch.
        payload: tensors by kind.
    """

    sender: str
    receiver: str
    task: Instruction
    stamp: Stamp
    payload: Mapping[Kind, Tensor] = field(default_factory=dict)

    @property
    def sizes(self) -> dict[Kind, int]:
        """Bytes of every kind."""
        return {kind: tensor.numel() * tensor.element_size() for kind, tensor in self.payload.items()}

    def answer(self, payload: Mapping[Kind, Tensor] | None = None) -> Message:
        """The message that answers this one."""
        return Message(self.receiver, self.sender, self.task, self.stamp, payload or {})


class PartyError(InputError):
    """A party did something that the protocol does not allow; the message names it."""


class SilentPartyError(PartyError):
    """A party did not answer in time."""


def opened(message: Message, task: Instruction, stamp: Stamp, shapes: Mapping[Kind, tuple[int, ...]]) -> list[Tensor]:
    """The tensors of a message after a check of its task, its batch, its kinds and their shapes."""
    found = f"{message.sender!r} sent"
    if message.task != task:
        raise PartyError(f"Party {found} {message.task.value!r} where {task.value!r} was expected.")
    if message.stamp != stamp:
        raise PartyError(f"Party {found} a message of {message.stamp}; the host is at {stamp}.")
    if set(message.payload) != set(shapes):
        kinds = ", ".join(sorted(message.payload)) or "nothing"
        raise PartyError(f"Party {found} {kinds}; expected: {', '.join(sorted(shapes)) or 'nothing'}.")
    for kind, shape in shapes.items():
        if tuple(message.payload[kind].shape) != shape:
            got = tuple(message.payload[kind].shape)
            raise PartyError(f"Party {found} {kind.value} of shape {got}; expected {shape}.")
    return [message.payload[kind] for kind in shapes]
