"""How messages travel. The parties see :class:`Channel` only: in one process now, over a network later."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as LateError
from typing import Any, Protocol

from seepage.federation.vertical.messages import Kind, Message, Phase, SilentPartyError


class Responder(Protocol):
    """A party that answers."""

    def respond(self, message: Message) -> Message:
        """The answer to a message."""
        ...


class Traffic:
    """Counts what crossed, by phase, direction and kind; keeps no values.

    Args:
        listener: is shown every message; for tests and privacy checks.
    """

    def __init__(self, listener: Callable[[Message], None] | None = None) -> None:
        self.bytes: Counter[tuple[Phase, bool, str, str, Kind]] = Counter()
        self.messages = 0
        self.listener = listener

    def count(self, message: Message) -> None:
        """Note one message; evaluation counts apart from training."""
        self.messages += 1
        for kind, size in message.sizes.items():
            stamp = message.stamp
            self.bytes[stamp.phase, stamp.training, message.sender, message.receiver, kind] += size
        if self.listener is not None:
            self.listener(message)

    def state(self) -> dict[str, Any]:
        """To save as JSON: what a run that goes on has sent before it was stopped."""
        crossed = [
            [phase.value, training, sender, receiver, kind.value, size]
            for (phase, training, sender, receiver, kind), size in self.bytes.items()
        ]
        return {"messages": self.messages, "crossed": crossed}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a saved state."""
        self.messages = int(state["messages"])
        self.bytes = Counter(
            {
                (Phase(phase), bool(training), sender, receiver, Kind(kind)): int(size)
                for phase, training, sender, receiver, kind, size in state["crossed"]
            }
        )

    def training_bytes(self, phase: Phase) -> dict[str, int]:
        """Bytes of every kind that training in this phase cost; validation is left out."""
        total: Counter[str] = Counter()
        for (at, training, _, _, kind), size in self.bytes.items():
            if at == phase and training:
                total[kind.value] += size
        return dict(sorted(total.items()))


class Channel(Protocol):
    """A way to ask a guest something and wait, never for ever, for the answer."""

    @property
    def guests(self) -> tuple[str, ...]:
        """Names of the guests, in the order of their columns."""
        ...

    @property
    def traffic(self) -> Traffic:
        """What crossed so far."""
        ...

    def request_all(self, messages: Sequence[Message]) -> list[Message | None]:
        """Ask several guests at once, each one thing; None for a guest whose answer does not come in time."""
        ...

    def refresh(self) -> None:
        """Look for guests that fell silent: they may be back."""
        ...


class InProcess:
    """All parties in this process; a call is a function call, so nothing can be late."""

    def __init__(self, guests: Mapping[str, Responder], traffic: Traffic | None = None) -> None:
        self._guests = dict(guests)
        self.traffic = traffic or Traffic()

    @property
    def guests(self) -> tuple[str, ...]:
        return tuple(self._guests)

    def request_all(self, messages: Sequence[Message]) -> list[Message | None]:
        return [self._request(message) for message in messages]

    def refresh(self) -> None:
        """Nobody can be away."""

    def _request(self, message: Message) -> Message | None:
        self.traffic.count(message)
        try:
            answer = self._guests[message.receiver].respond(message)
        except SilentPartyError:
            return None
        self.traffic.count(answer)
        return answer


class Threads:
    """Each guest in a thread of its own; an answer that takes longer than the limit does not come at all.

    Args:
        limit: seconds to wait. A guest that is still busy with an earlier question counts as silent at once.
    """

    def __init__(self, guests: Mapping[str, Responder], limit: float, traffic: Traffic | None = None) -> None:
        self._guests = dict(guests)
        self._limit = limit
        self._workers = {name: ThreadPoolExecutor(1, thread_name_prefix=name) for name in guests}
        self._busy: dict[str, Future[Message]] = {}
        self.traffic = traffic or Traffic()

    @property
    def guests(self) -> tuple[str, ...]:
        return tuple(self._guests)

    def request_all(self, messages: Sequence[Message]) -> list[Message | None]:
        until = time.monotonic() + self._limit
        futures = [self._submit(message) for message in messages]
        return [None if each is None else self._awaited(each, until) for each in futures]

    def _submit(self, message: Message) -> Future[Message] | None:
        name = message.receiver
        earlier = self._busy.get(name)
        if earlier is not None and not earlier.done():
            return None
        self.traffic.count(message)
        self._busy[name] = self._workers[name].submit(self._guests[name].respond, message)
        return self._busy[name]

    def _awaited(self, future: Future[Message], until: float) -> Message | None:
        try:
            answer = future.result(timeout=max(0.0, until - time.monotonic()))
        except (LateError, SilentPartyError):
            return None
        self.traffic.count(answer)
        return answer

    def refresh(self) -> None:
        """Who is done with an earlier question answers again."""

    def close(self) -> None:
        """Let the threads go; a guest that hangs is not waited for."""
        for worker in self._workers.values():
            worker.shutdown(wait=False, cancel_futures=True)
