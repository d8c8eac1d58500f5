"""What crosses the network: frames with a checked header and typed tensors. Data, never code.

A frame is a mark, the version of the protocol, the length of a JSON header, the header, and a body: tensors as
safetensors, or bytes of the private set intersection. Everything is bounded and checked before it is used; a fault is
one sentence that names the party and no value.
"""

from __future__ import annotations

import secrets
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import torch
from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from seepage.federation.vertical.messages import Instruction, Kind, Message, PartyError, Phase, Stamp

VERSION = 1
MOST_BYTES = 512 * 2**20  # of a frame: the points of four million people
MOST_HEADER = 64 * 2**10
MOST_AXES = 2
_MARK = b"SEEP"
_MANY, TOGETHER = b"SEES", 2
_SEVERAL = struct.Struct("<4sBI")  # mark, how many, bytes of the first
_START = struct.Struct("<4sHI")  # mark, version, bytes of the header
_TYPES = {Kind.BATCH_IDS: torch.int32, Kind.MASK: torch.bool}  # all others: float32
_KINDS = {kind.name: kind for kind in Kind}
_BEYOND = "beyond"


class StampHeader(BaseModel):
    """Which batch a frame belongs to."""

    model_config = ConfigDict(extra="forbid", strict=True)

    phase: Annotated[Phase, Field(strict=False)]
    epoch: Annotated[int, Field(ge=0, le=2**31)]
    batch: Annotated[int, Field(ge=0, le=2**31)]
    training: bool

    @staticmethod
    def of(stamp: Stamp) -> StampHeader:
        """As it is written."""
        return StampHeader(phase=stamp.phase, epoch=stamp.epoch, batch=stamp.batch, training=stamp.training)

    @property
    def stamp(self) -> Stamp:
        """As the parties use it."""
        return Stamp(self.phase, self.epoch, self.batch, self.training)


class Header(BaseModel):
    """What a frame says about itself.

    Args:
        session: drawn by the host whenever it says hello; a frame of another session does not pass.
        number: grows with every frame of a session, so that none passes twice.
        step: what is asked or answered.
        nonce: drawn for each frame, so that a log of digests cannot be tested with guesses of short messages.
        facts: of arranging steps.
    """

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    session: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
    number: Annotated[int, Field(ge=0, lt=2**63)]
    step: Annotated[str, Field(max_length=32)]
    nonce: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")] = Field(default_factory=lambda: secrets.token_hex(16))
    stamp: StampHeader | None = None
    facts: dict[str, JsonValue] = Field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Frame:
    """A header and its body."""

    header: Header
    body: bytes = b""

    def packed(self) -> bytes:
        """The bytes that cross."""
        header = self.header.model_dump_json(exclude_defaults=True, exclude={"nonce"})
        # The default is drawn, so pydantic would take it for left out.
        text = f'{{"nonce":"{self.header.nonce}",{header[1:]}'.encode()
        return _START.pack(_MARK, VERSION, len(text)) + text + self.body

    def answer(self, facts: Mapping[str, JsonValue] | None = None, body: bytes = b"") -> Frame:
        """The frame that answers this one."""
        own = self.header
        header = Header(session=own.session, number=own.number, step=own.step, stamp=own.stamp, facts=dict(facts or {}))
        return Frame(header, body)


def opened_frame(content: bytes, sender: str) -> Frame:
    """A frame after a check of its form; its session and number are for the receiver to judge."""
    if len(content) > MOST_BYTES:
        raise PartyError(f"Party {sender!r} sent {len(content):,} bytes at once; at most {MOST_BYTES:,} are taken.")
    if len(content) < _START.size:
        raise PartyError(f"Party {sender!r} sent {len(content)} bytes, too few for a message.")
    mark, version, length = _START.unpack_from(content)
    if mark != _MARK:
        raise PartyError(f"Party {sender!r} sent something that is not a message of Seepage.")
    if version != VERSION:
        raise PartyError(
            f"Party {sender!r} speaks version {version} of the protocol, this party version {VERSION}; install the "
            "same Seepage at both."
        )
    if length > MOST_HEADER or _START.size + length > len(content):
        raise PartyError(f"Party {sender!r} sent a message whose length is not what it says.")
    try:
        header = Header.model_validate_json(content[_START.size : _START.size + length])
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        place = ".".join(map(str, first["loc"])) or "header"
        raise PartyError(f"Party {sender!r} sent a message with a wrong header ({place}: {first['msg']}).") from None
    return Frame(header, content[_START.size + length :])


def joined(frames: Sequence[bytes]) -> bytes:
    """Several frames in one question, in their order: each question costs the way there and back."""
    if len(frames) == 1:
        return frames[0]
    return _SEVERAL.pack(_MANY, len(frames), *map(len, frames[:-1])) + b"".join(frames)


def parted(content: bytes, sender: str) -> list[bytes]:
    """The frames of a question: one, or two that were sent together."""
    if content[:4] != _MANY:
        return [content]
    if len(content) < _SEVERAL.size:
        raise PartyError(f"Party {sender!r} sent {len(content)} bytes, too few for a message.")
    _, count, first = _SEVERAL.unpack_from(content)
    if count != TOGETHER or _SEVERAL.size + first > len(content):
        raise PartyError(f"Party {sender!r} sent messages together whose lengths are not what they say.")
    return [content[_SEVERAL.size : _SEVERAL.size + first], content[_SEVERAL.size + first :]]


def packed_tensors(tensors: Mapping[Kind, Tensor]) -> bytes:
    """Tensors as a body."""
    return save({kind.name: tensor.detach().contiguous() for kind, tensor in tensors.items()}) if tensors else b""


def opened_tensors(body: bytes, sender: str) -> dict[Kind, Tensor]:
    """The tensors of a body after a check of their names, types and values."""
    if not body:
        return {}
    try:
        found = load(body)
    except (SafetensorError, ValueError, KeyError, RuntimeError):  # RuntimeError: sizes that no memory has
        raise PartyError(f"Party {sender!r} sent a message whose tensors cannot be read.") from None
    tensors = {}
    for name, tensor in found.items():
        kind = _KINDS.get(name)
        if kind is None:
            raise PartyError(f"Party {sender!r} sent a kind of tensor that there is not.")
        expected = _TYPES.get(kind, torch.float32)
        if tensor.dtype != expected or tensor.ndim > MOST_AXES:
            said = f"{_short(tensor.dtype)} with {tensor.ndim} axes"
            raise PartyError(f"Party {sender!r} sent {kind.value} as {said}; {_short(expected)} is expected.")
        if tensor.is_floating_point() and not bool(torch.isfinite(tensor).all()):
            raise PartyError(f"Party {sender!r} sent {kind.value} that are not finite numbers.")
        tensors[kind] = tensor
    return tensors


def packed_message(message: Message, session: str, number: int) -> bytes:
    """A message of the training as bytes.

    A gradient beyond float32 is announced and not sent: whoever gets it leaves the step out, as in one process.
    """
    tensors, facts = dict(message.payload), {}
    gradient = tensors.get(Kind.GRADIENT)
    if gradient is not None and not bool(torch.isfinite(gradient).all()):
        facts[_BEYOND] = list(tensors.pop(Kind.GRADIENT).shape)
    header = Header(
        session=session,
        number=number,
        step=message.task.value,
        stamp=StampHeader.of(message.stamp),
        facts=facts,  # type: ignore[arg-type]
    )
    return Frame(header, packed_tensors(tensors)).packed()


def opened_message(frame: Frame, sender: str, receiver: str) -> Message:
    """A frame as a message of the training."""
    header = frame.header
    if header.step not in set(Instruction) or header.stamp is None:
        raise PartyError(f"Party {sender!r} sent a step of training that there is not, or none of a batch.")
    payload = opened_tensors(frame.body, sender)
    shape = header.facts.get(_BEYOND)
    if shape is not None:
        payload[Kind.GRADIENT] = torch.full(_checked(shape, sender), torch.nan)
    return Message(sender, receiver, Instruction(header.step), header.stamp.stamp, payload)


def _checked(shape: JsonValue, sender: str) -> tuple[int, ...]:
    """The shape of a gradient that was announced: such as could have been sent."""
    sizes = shape if isinstance(shape, list) and len(shape) <= MOST_AXES else [None]
    total = 4
    for size in sizes:
        if not isinstance(size, int) or not 0 <= size <= MOST_BYTES:
            raise PartyError(f"Party {sender!r} announced a gradient of no possible shape.")
        total *= size
    if total > MOST_BYTES:
        raise PartyError(f"Party {sender!r} announced a gradient of no possible shape.")
    return tuple(size for size in sizes if isinstance(size, int))


def _short(kind: torch.dtype) -> str:
    return str(kind).removeprefix("torch.")
