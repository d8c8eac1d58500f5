"""Flower: a strategy that records what its clients send, and a client mod that guards what leaves.

    from seepage.integrations.flower import record
    strategy = record(strategy, "capture", batch_size=16, local_epochs=1, learning_rate=0.01)

    from seepage.integrations.flower import guard
    app = ClientApp(mods=[guard(model=build, schema="schema.toml", facts={"batch_size": 16}, action="hold")])

Only the message API is known here (``flwr.serverapp.strategy.Strategy``). Tried with the versions in ``TRIED``.
"""

from __future__ import annotations

import logging
import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import flwr
import numpy as np
from flwr.app import Array, ArrayRecord, ConfigRecord, Context, Error, Message, MessageType, MetricRecord, RecordDict
from flwr.clientapp.typing import ClientAppCallable, Mod
from flwr.common.constant import ErrorCode
from flwr.serverapp import Grid
from flwr.serverapp.strategy import Strategy

from seepage._core import InputError, unknown_name
from seepage.captures import CaptureFacts
from seepage.captures.reading import Framework, Kind
from seepage.integrations.recording import Arrays, Bounds, Recorder

if TYPE_CHECKING:
    from seepage.integrations.judging import Verdict

TRIED = ("1.41.0",)
ROWS = "num-examples"  # the key under which clients tell their rows, unless a strategy has another
S = TypeVar("S", bound=Strategy)
_log = logging.getLogger("flwr.seepage")  # below Flower's own, so that it is shown where Flower's lines are


def record(
    strategy: S,
    folder: str | Path,
    *,
    sends: Kind = "after",
    names: Sequence[str] = (),
    from_config: Mapping[str, str] | None = None,
    bounds: Bounds | None = None,
    **facts: Any,
) -> S:
    """The same strategy, which from now on records what is sent to clients and what they answer.

    It goes on as before: what it is given and gives is passed on unchanged, and nothing that happens to the recorder
    stops it. Wrap the outermost strategy: one that clips on the server, say, is recorded as clients send.

    Args:
        strategy: any strategy of Flower's message API.
        folder: of the capture (:class:`seepage.integrations.recording.Recorder`).
        sends: what clients answer: the weights ``after`` training, their ``change``, or a ``gradient``.
        names: of the arrays, in order, where clients exchange a list of arrays and not a state dict.
        from_config: facts that stand in the configuration of a round, such as ``{"learning_rate": "lr"}``.
        bounds: how much is recorded.
        facts: of the clients' training, which the server knows (:class:`seepage.captures.CaptureFacts`):
            ``batch_size``, ``local_epochs``, ``learning_rate``, ``optimiser`` and so on. The number of rows is what
            clients report as ``num-examples``.
    """
    if not isinstance(strategy, Strategy):
        raise InputError(
            f"A {type(strategy).__name__} cannot be recorded: it is no strategy of Flower's message API "
            "(flwr.serverapp.strategy). Those of flwr.server.strategy are of an older API."
        )
    for name in from_config or {}:
        if name not in CaptureFacts.model_fields:
            raise unknown_name("fact of an update", name, CaptureFacts.model_fields)
    tell_version()
    recorder = Recorder(folder, framework=framework(), bounds=bounds, logger=_log, facts=facts)
    watch = _Watch(strategy, recorder, sends, tuple(names), dict(from_config or {}))
    # The methods of this one object are replaced: it stays of its class, with its own way to start and its attributes.
    for method in (watch.configure_train, watch.aggregate_train, watch.start):
        setattr(strategy, method.__name__, method)
    return strategy


def guard(*, sends: Kind = "after", names: Sequence[str] = (), **options: Any) -> Mod:
    """A client mod that looks at every update before it leaves.

    Name it first among the mods: it then sees what really leaves, after the others have changed it.

    Args:
        sends: what the client answers, as for :func:`record`.
        names: of the arrays, as for :func:`record`.
        options: of :class:`seepage.integrations.guarding.Guard`. ``rows``, ``client_rows`` and ``public`` may be
            functions of Flower's context, for a client that finds its table by ``context.node_config``.
    """
    tell_version()
    return _Guarded(sends, tuple(names), options)


class _Guarded:
    """The mod: trains, looks, and answers with an error in place of what is held back."""

    def __init__(self, sends: Kind, names: tuple[str, ...], options: dict[str, Any]) -> None:
        from seepage.integrations.guarding import guard_of  # brings torch, which a server that records needs not

        self.sends, self.names = sends, names
        self.context: Context | None = None
        given: dict[str, Any] = {"logger": _log, **options}
        for name in ("rows", "client_rows", "public"):
            given[name] = self._bound(given.get(name))
        self.guard = guard_of(given)

    def _bound(self, table: Any) -> Any:
        return (lambda: table(self.context)) if callable(table) else table

    def __call__(self, message: Message, context: Context, call_next: ClientAppCallable) -> Message:
        if message.metadata.message_type.partition(".")[0] != MessageType.TRAIN:
            return call_next(message, context)
        self.context = context
        arrays = _only(message.content.array_records)
        before = _held_now(arrays)
        arrived = self.guard.check_arrived(lambda: as_state(before, self.names))
        if arrived.held:
            return _held(arrived, message)
        reply = call_next(message, context)
        if reply.has_error():
            return reply
        sent = _only(reply.content.array_records)
        verdict = self.guard.check(
            lambda: as_state(before, self.names),
            lambda: as_state(_held_now(sent), self.names),
            kind=self.sends,
            rows=_rows_of(reply.content, ROWS),
        )
        return _held(verdict, message) if verdict.held else reply


def _held(verdict: Verdict, message: Message) -> Message:
    """What the server gets in place of an update: an error with a reason, which its strategy logs."""
    return Message(Error(ErrorCode.MOD_FAILED_PRECONDITION, verdict.reason), reply_to=message)


def framework() -> Framework:
    """Flower, as a capture names it."""
    return Framework(name="flower", version=flwr.__version__)


def tell_version() -> None:
    """A version that nobody tried is said, and used."""
    if flwr.__version__ not in TRIED:
        _log.warning("Seepage was tried with Flower %s; this is %s.", " and ".join(TRIED), flwr.__version__)


class _Watch:
    """Stands between a strategy and Flower, and looks at what goes by."""

    def __init__(
        self, strategy: Strategy, recorder: Recorder, sends: Kind, names: tuple[str, ...], from_config: dict[str, str]
    ) -> None:
        self.recorder, self.sends, self.names, self.from_config = recorder, sends, names, from_config
        self.rows_key = getattr(strategy, "weighted_by_key", ROWS)
        self.own = types.SimpleNamespace(
            configure_train=strategy.configure_train, aggregate_train=strategy.aggregate_train, start=strategy.start
        )
        self.config: dict[str, Any] = {}
        self._given: tuple[int, ArrayRecord, Arrays] | None = None  # what was sent last

    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """Note what each message holds, as it is sent: a strategy may send other arrays than it was given."""
        messages = self.own.configure_train(server_round, arrays, config, grid)
        return self._noted(messages, lambda message: self._sent(server_round, message))

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        """Note every reply, once, and hand it on."""
        noted = self._noted(replies, lambda reply: self._received(server_round, reply))
        found: tuple[ArrayRecord | None, MetricRecord | None] = self.own.aggregate_train(server_round, noted)
        return found

    def start(self, *given: Any, **named: Any) -> Any:
        """Train, and write what still waits when it ends, however it ends."""
        try:
            return self.own.start(*given, **named)
        finally:
            self.recorder.close()

    @staticmethod
    def _noted(messages: Iterable[Message], note: Any) -> Iterable[Message]:
        if isinstance(messages, Sequence):
            for each in messages:
                note(each)
            return messages
        return _passing(messages, note)  # what can be read once only is read once only

    def _sent(self, number: int, message: Message) -> None:
        arrays = _only(message.content.array_records)
        if arrays is None:
            self.recorder.tell("unsent arrays", "What was sent out is not one record of arrays.")
            return
        # Strategies send all nodes of a round one record. In the next round it may be the same, changed.
        if self._given is None or self._given[0] != number or self._given[1] is not arrays:
            self._given = number, arrays, self._lazily(arrays)
        self.recorder.sent(number, self._given[2], str(message.metadata.dst_node_id))
        self.config = {
            fact: config[key]
            for config in message.content.config_records.values()
            for fact, key in self.from_config.items()
            if key in config
        }

    def _received(self, number: int, reply: Message) -> None:
        if reply.has_error():
            return  # Flower tells it
        content = reply.content
        arrays = _only(content.array_records)
        if arrays is None:
            held = ", ".join(f"{len(each)} {what}" for what, each in _kinds(content).items() if each) or "nothing"
            self.recorder.tell(
                "no arrays",
                f"A client's answer is not one record of arrays (it holds {held}), so there is nothing to audit: with "
                "secure aggregation the server sees masked sums only.",
            )
            return
        self.recorder.received(
            number,
            str(reply.metadata.src_node_id),
            self._lazily(arrays),
            size=sum(len(each.data) for each in arrays.values()),
            kind=self.sends,
            rows=_rows_of(content, self.rows_key),
            **self.config,
        )

    def _lazily(self, arrays: ArrayRecord) -> Arrays:
        kept = _held_now(arrays)
        return lambda: as_state(kept, self.names)


def _passing(messages: Iterable[Message], note: Any) -> Iterator[Message]:
    for each in messages:
        note(each)
        yield each


def _held_now(arrays: ArrayRecord | None) -> dict[str, Array]:
    """What a record holds. It may be changed later; its arrays hold bytes, which cannot be."""
    return {} if arrays is None else {name: arrays[name] for name in arrays}


def _only(records: Mapping[str, ArrayRecord]) -> ArrayRecord | None:
    return next(iter(records.values())) if len(records) == 1 else None


def _rows_of(content: RecordDict, key: str) -> int | None:
    """How many rows a client says are behind its answer."""
    found = [metrics[key] for metrics in content.metric_records.values() if key in metrics]
    return int(found[0]) if found and isinstance(found[0], int | float) else None


def _kinds(content: RecordDict) -> dict[str, Any]:
    return {
        "array records": content.array_records,
        "metric records": content.metric_records,
        "config records": content.config_records,
    }


def as_state(arrays: Mapping[str, Array], names: Sequence[str] = ()) -> dict[str, np.ndarray]:
    """Flower's arrays by name; one sentence at what is no array of numbers."""
    if names and len(names) != len(arrays):
        raise InputError(f"{len(names)} names were given for {len(arrays)} arrays.")
    found = {}
    for name, array in zip(names or arrays, arrays.values(), strict=True):
        try:
            found[name] = array.numpy()
        except (TypeError, ValueError, EOFError) as error:
            raise InputError(
                f"The array {name!r} is {array.stype!r} of type {array.dtype!r}, which is not read ({error}): what is "
                "quantised or encrypted cannot be audited from here."
            ) from None
    return found
