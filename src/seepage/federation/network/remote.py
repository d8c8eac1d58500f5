"""The host's way to guests on other machines: gRPC with mutual TLS, a deadline on every wait."""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import grpc
from pydantic import JsonValue

from seepage._core.names import HOST
from seepage.federation.network.address import check_plain
from seepage.federation.network.certificates import Identity
from seepage.federation.network.message_log import MessageLog
from seepage.federation.network.wire import (
    MOST_BYTES,
    Frame,
    Header,
    joined,
    opened_frame,
    opened_message,
    packed_message,
)
from seepage.federation.vertical.channel import Traffic
from seepage.federation.vertical.messages import Instruction, Message, PartyError, SilentPartyError

METHOD = "/seepage.Party/Ask"
HELLO = "hello"
BEAT = 10_000  # milliseconds between heartbeats, with or without a question
GREETING = 5.0  # seconds that a guest has to say hello while the host waits for it
LOOK = 0.5  # and while it does not: so much longer takes an epoch without somebody
# A connection that is lost is tried again soon: a guest that starts anew is there within a second.
# Intermediate results of a batch are a few hundred KB: they go in one piece.
WIDE = (
    ("grpc.http2.max_frame_size", 2**23),
    ("grpc.http2.lookahead_bytes", 2**23),
    ("grpc.http2.write_buffer_size", 2**22),
)
OPTIONS = (
    *WIDE,
    ("grpc.max_receive_message_length", MOST_BYTES),
    ("grpc.max_send_message_length", MOST_BYTES),
    ("grpc.keepalive_time_ms", BEAT),
    ("grpc.keepalive_timeout_ms", BEAT // 2),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_pings_without_data", 0),
    ("grpc.initial_reconnect_backoff_ms", 200),
    ("grpc.min_reconnect_backoff_ms", 200),
    ("grpc.max_reconnect_backoff_ms", 2_000),
    ("grpc.enable_retries", 0),
)
_AWAY = {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.CANCELLED}
_CERTIFICATE = ("certificate", "handshake", "ssl", "tls", "hostname verification", "peer name")


class StrangerError(PartyError):
    """Whoever is at a guest's address cannot show that it is that guest."""


@dataclass(frozen=True, kw_only=True)
class Patience:
    """How long the host waits.

    Args:
        answer: seconds for an answer of the training.
        arrange: seconds for an answer before it, such as the intersection of keys.
        connect: seconds for all guests to be there at the beginning, or to come back where the host waits for them.
    """

    answer: float = 60.0
    arrange: float = 3_600.0
    connect: float = 600.0


class Remote:
    """Guests on other machines. Each says hello once for each session; a session ends when either side starts anew.

    Args:
        addresses: of the guests, by their names, in the order of their columns.
        run: the name of this training, the same when it goes on after a kill.
        identity: certificate and key of the host; None is allowed for addresses of this machine only.
        patience: how long to wait.
        log: of all frames.
    """

    def __init__(
        self,
        addresses: Mapping[str, str],
        run: str,
        *,
        identity: Identity | None,
        patience: Patience,
        log: MessageLog,
        traffic: Traffic | None = None,
    ) -> None:
        self.traffic = traffic or Traffic()
        self.patience, self._run, self._log = patience, run, log
        self._channels = {name: _channel(name, address, identity) for name, address in addresses.items()}
        self._asks = {
            name: channel.unary_unary(METHOD, request_serializer=None, response_deserializer=None)
            for name, channel in self._channels.items()
        }
        self._workers = {name: ThreadPoolExecutor(1, thread_name_prefix=name) for name in self._asks}
        self._held: dict[str, bytes] = {}
        self._sessions: dict[str, str] = {}
        self._numbers: dict[str, int] = {}

    @property
    def guests(self) -> tuple[str, ...]:
        return tuple(self._asks)

    @property
    def missing(self) -> list[str]:
        """Guests that are not there."""
        return [name for name in self.guests if name not in self._sessions]

    def connect(self) -> dict[str, dict[str, JsonValue]]:
        """Say hello to all; what each answered. It waits until everybody is there, for ``patience.connect`` at most."""
        return self.wait(self.guests)

    def wait(self, guests: Sequence[str]) -> dict[str, dict[str, JsonValue]]:
        """Say hello to these until each has answered; SilentPartyError names those that did not in time."""
        until = time.monotonic() + self.patience.connect
        greeted: dict[str, dict[str, JsonValue]] = {}
        while missing := [name for name in guests if name not in greeted]:
            left = until - time.monotonic()
            if left <= 0:
                raise SilentPartyError(
                    f"Guest {', '.join(map(repr, missing))} was not there within {self.patience.connect:.0f} seconds; "
                    "start it, and then the host again: it goes on where it was."
                )
            for name in missing:
                answer = self._greet(name, min(left, GREETING))
                if answer is not None:
                    greeted[name] = answer
            if len(greeted) < len(guests):
                time.sleep(min(0.2, max(0.0, until - time.monotonic())))
        return greeted

    def refresh(self) -> None:
        """Guests without a session may be back."""
        for name in self.missing:
            self._greet(name, LOOK, waits=True)

    def request_all(self, messages: Sequence[Message]) -> list[Message | None]:
        return self.collect(messages, self.send(messages))

    def send(self, messages: Sequence[Message]) -> list[Future[Message] | None]:
        """Ask several guests at once, without waiting; None for one that is not there."""
        return [self._sent(message) if message.receiver in self._sessions else None for message in messages]

    def collect(self, messages: Sequence[Message], calls: Sequence[Future[Message] | None]) -> list[Message | None]:
        """The answers to what was sent."""
        return [
            None if call is None else self._answered(message, call)
            for message, call in zip(messages, calls, strict=True)
        ]

    def arrange(self, name: str, step: str, facts: Mapping[str, JsonValue] | None = None, body: bytes = b"") -> Frame:
        """Ask one guest something that is not of the training, and wait."""
        session = self._sessions.get(name)
        if session is None:
            raise SilentPartyError(f"Guest {name!r} is not there for '{step}'; start it, and then the host again.")
        frame = Frame(Header(session=session, number=self._next(name), step=step, facts=dict(facts or {})), body)
        answer = self._exchange(name, frame, self.patience.arrange)
        if answer is None:
            raise SilentPartyError(f"Guest {name!r} went away during '{step}'; start it, and then the host again.")
        return answer

    def close(self) -> None:
        """Let the connections go."""
        for channel in self._channels.values():
            channel.close()
        for worker in self._workers.values():
            worker.shutdown()

    def _greet(self, name: str, limit: float, *, waits: bool = False) -> dict[str, JsonValue] | None:
        """A new session with a guest; None if it is not there.

        Args:
            waits: for a connection, too; what is wrong with a certificate is told only without.
        """
        session = secrets.token_hex(16)
        self._held.pop(name, None)  # it is of a session that has ended
        frame = Frame(Header(session=session, number=0, step=HELLO, facts={"run": self._run, "guest": name}))
        answer = self._exchange(name, frame, limit, waits=waits)
        if answer is None:
            return None
        self._sessions[name], self._numbers[name] = session, 0
        return answer.header.facts

    def _exchange(self, name: str, frame: Frame, limit: float, *, waits: bool = False) -> Frame | None:
        content = frame.packed()
        self._log.note("sent", name, frame.header.step, {frame.header.step: len(frame.body)}, content)
        try:
            found = self._asks[name](self._with_held(name, content), timeout=limit, wait_for_ready=waits)
        except grpc.RpcError as error:
            self._failed(name, error)
            return None
        answer = opened_frame(found, name)
        self._log.note("received", name, frame.header.step, {frame.header.step: len(answer.body)}, found)
        self._check(name, answer, frame.header)
        return answer

    def _sent(self, message: Message) -> Future[Message]:
        """A question on its way; packing and opening are done where the waiting is, guest by guest."""
        name = message.receiver
        self.traffic.count(message)
        session, number = self._sessions[name], self._next(name)
        if message.task == Instruction.LEARN:  # nothing comes back of it: it goes with the next question
            self._held[name] = self._packed(message, session, number)
            done: Future[Message] = Future()
            done.set_result(message.answer())
            return done
        # gRPC's own futures start a thread for every question, which costs more than the question.
        return self._workers[name].submit(self._asked, message, session, number)

    def _packed(self, message: Message, session: str, number: int) -> bytes:
        content = packed_message(message, session, number)
        self._note("sent", message.receiver, message, content)
        return content

    def _asked(self, message: Message, session: str, number: int) -> Message:
        name = message.receiver
        content = self._with_held(name, self._packed(message, session, number))
        found = self._asks[name](content, timeout=self.patience.answer)
        frame = opened_frame(found, name)
        answer = opened_message(frame, name, HOST)
        if frame.header.session != session:
            raise PartyError(f"Party {name!r} sent a message of another session.")
        self._note("received", name, answer, found)
        return answer

    def _with_held(self, name: str, content: bytes) -> bytes:
        held = self._held.pop(name, None)
        return content if held is None else joined([held, content])

    def _answered(self, message: Message, call: Future[Message]) -> Message | None:
        try:
            answer = call.result()
        except grpc.RpcError as error:
            self._failed(message.receiver, error)
            return None
        self.traffic.count(answer)
        return answer

    def _failed(self, name: str, error: grpc.RpcError) -> None:
        """A guest that is away has no session any more; anything else is told."""
        code, told = error.code(), str(error.details() or "")
        if code in _AWAY:
            if any(word in told.lower() for word in _CERTIFICATE):
                raise StrangerError(
                    f"Whoever answers at the address of guest {name!r} cannot show a certificate of that name from our "
                    f"authority, or does not accept ours: {_first(told)}."
                )
            self._sessions.pop(name, None)
            return
        if code == grpc.StatusCode.FAILED_PRECONDITION:  # it started anew and knows no session
            self._sessions.pop(name, None)
            return
        if code == grpc.StatusCode.RESOURCE_EXHAUSTED:
            raise PartyError(f"A message to or from guest {name!r} has more than {MOST_BYTES:,} bytes.")
        raise PartyError(f"Guest {name!r} refuses: {_first(told) or code.name.lower()}")

    def _check(self, name: str, answer: Frame, asked: Header) -> None:
        found = answer.header
        if (found.session, found.number, found.step) != (asked.session, asked.number, asked.step):
            raise PartyError(f"Party {name!r} answered something else than it was asked.")

    def _next(self, name: str) -> int:
        self._numbers[name] += 1
        return self._numbers[name]

    def _note(self, way: str, name: str, message: Message, content: bytes) -> None:
        sizes = {kind.value: size for kind, size in message.sizes.items()}
        self._log.note("sent" if way == "sent" else "received", name, message.task.value, sizes, content)


def _channel(name: str, address: str, identity: Identity | None) -> grpc.Channel:
    if identity is None:
        check_plain(address)
        return grpc.insecure_channel(address, OPTIONS)
    credentials = grpc.ssl_channel_credentials(identity.authority, identity.key, identity.certificate)
    return grpc.secure_channel(address, credentials, (*OPTIONS, ("grpc.ssl_target_name_override", name)))


def _first(told: str) -> str:
    """What a guest or gRPC says, in one line of a sensible length."""
    return " ".join(told.split())[:300].rstrip(".")
