"""All guests as the host reaches them, and their states: each party saves its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from seepage._core import InputError
from seepage.federation.network.message_log import MessageLog
from seepage.federation.network.own_state import KeptGuest, OwnStates
from seepage.federation.network.remote import Remote
from seepage.federation.vertical import Kind
from seepage.federation.vertical.channel import InProcess, Traffic
from seepage.federation.vertical.host import Host
from seepage.federation.vertical.messages import Instruction, Message, Phase, Stamp


class Everybody:
    """The host's own columns in this process, and guests elsewhere; the host calculates while guests do."""

    def __init__(self, own: dict[str, KeptGuest], remote: Remote) -> None:
        self._own, self._remote = InProcess(own, remote.traffic), remote

    @property
    def guests(self) -> tuple[str, ...]:
        return (*self._own.guests, *self._remote.guests)

    @property
    def traffic(self) -> Traffic:
        return self._remote.traffic

    def request_all(self, messages: Sequence[Message]) -> list[Message | None]:
        far = [each for each in messages if each.receiver not in self._own.guests]
        calls = self._remote.send(far)
        near = [each for each in messages if each.receiver in self._own.guests]
        found = dict(zip([each.receiver for each in near], self._own.request_all(near), strict=True))
        found |= zip([each.receiver for each in far], self._remote.collect(far, calls), strict=True)
        return [found[each.receiver] for each in messages]

    def refresh(self) -> None:
        self._remote.refresh()


class Apart:
    """States of parties on different machines: each saves its own when the host says so, the host last.

    Args:
        states: of the host.
        remote: knows who is back.
        log: is signed with every state.
    """

    def __init__(self, states: OwnStates, remote: Remote, log: MessageLog) -> None:
        self._states, self._remote, self._log = states, remote, log

    def save(self, number: int, stamp: Stamp, host: Host, facts: dict[str, Any]) -> None:
        host.ask_all(Instruction.SAVE, stamp)
        at = {"phase": stamp.phase.value, "epoch": stamp.epoch}
        self._states.save(f"epoch {number}", host.state(), facts | {"stamp": at})
        self._log.sign()

    def load(self, host: Host) -> dict[str, Any] | None:
        for name in reversed(self._states.names):
            found = self._states.load(name)
            if found is not None:
                break
        else:
            return None
        tensors, facts = found
        host.missed.clear()
        host.welcome()
        host.restore(tensors)
        stamp = Stamp(Phase(facts["stamp"]["phase"]), facts["stamp"]["epoch"], 0)
        answers = host.ask_all(Instruction.RESTORE, stamp)
        there = set(host.guests) - set(facts["epochs"][-1]["absent"])
        for guest, answer in answers.items():
            if guest in there and not float(answer.payload[Kind.LOSS]):
                raise InputError(
                    f"Guest {guest!r} has lost its state at the end of {stamp.phase.value} epoch {stamp.epoch + 1}; "
                    "bring its folder back, or begin anew with another folder of the host."
                )
        return facts

    def wait(self, guests: Sequence[str]) -> None:
        self._remote.wait(guests)
