"""Parties that do something to a tensor before they send it: wrappers, so that host and guests know of no defence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch

from seepage._core import InputError, Streams
from seepage._core.names import HOST
from seepage.defenses import Defense
from seepage.federation.vertical.channel import Channel, Responder, Traffic
from seepage.federation.vertical.messages import Instruction, Kind, Message, Phase


def defended_guest(guest: Responder, defense: Defense | None, streams: Streams) -> Responder:
    """The guest behind its defence; the guest itself without one."""
    if defense is None:
        return guest
    name = getattr(guest, "name", "")
    return DefendedGuest(guest, defense, _random(streams.child("party", name)))


def defended_channel(channel: Channel, defense: Defense | None, streams: Streams) -> Channel:
    """The host's way to the guests behind its defence; the channel itself without one."""
    return channel if defense is None else DefendedChannel(channel, defense, _random(streams.child("party", HOST)))


class DefendedGuest:
    """A guest whose intermediate results leave its house defended, while training and afterwards."""

    def __init__(self, guest: Responder, defense: Defense, random: torch.Generator) -> None:
        self._guest, self._defense, self._random = guest, defense, random

    def respond(self, message: Message) -> Message:
        answer = self._guest.respond(message)
        if message.task != Instruction.COMPUTE:
            return answer
        return _replaced(answer, Kind.INTERMEDIATE, self._defense, self._random)


class DefendedChannel:
    """A host whose gradients of fine-tuning, which tell of labels, leave its house defended."""

    def __init__(self, channel: Channel, defense: Defense, random: torch.Generator) -> None:
        self._channel, self._defense, self._random = channel, defense, random

    @property
    def guests(self) -> tuple[str, ...]:
        return self._channel.guests

    @property
    def traffic(self) -> Traffic:
        return self._channel.traffic

    def request_all(self, messages: Sequence[Message]) -> list[Message | None]:
        return self._channel.request_all([self._sent(message) for message in messages])

    def refresh(self) -> None:
        self._channel.refresh()

    def _sent(self, message: Message) -> Message:
        if message.task != Instruction.LEARN or message.stamp.phase != Phase.FINETUNING:
            return message
        return _replaced(message, Kind.GRADIENT, self._defense, self._random)


def _replaced(message: Message, kind: Kind, defense: Defense, random: torch.Generator) -> Message:
    if kind not in message.payload:
        return message
    values = message.payload[kind]
    sent = defense.in_message(kind.value, values, random).to(values.dtype)
    if sent.shape != values.shape:
        raise InputError(f"The defence {type(defense).__name__} changed the shape of {kind.value}.")
    return replace(message, payload={**message.payload, kind: sent.detach()})


def _random(streams: Streams) -> torch.Generator:
    return torch.Generator().manual_seed(streams.integer("defence"))
