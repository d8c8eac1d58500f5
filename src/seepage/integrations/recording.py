"""Records what a server sends and receives into a capture, beside the training and never in its way.

A training loop hands over what it has in its hands anyway. Checking, hashing and writing are done by a thread of the
recorder's own, so a round waits for it at most ``patience`` seconds, and only if the disk has fallen far behind. What
cannot be recorded is told once in the log; nothing that happens to a recorder reaches the training.
"""

from __future__ import annotations

import atexit
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from seepage._core import InputError
from seepage._core.errors import NotWritten
from seepage._core.paths import user_path
from seepage._core.validation import sentence
from seepage.captures import CaptureFacts, Tensors, pseudonym
from seepage.captures.clients import kept_salt
from seepage.captures.reading import Framework, Kind
from seepage.captures.tensors import as_arrays
from seepage.captures.writing import Update, append, made

MOST_TOLD = 50  # kinds of trouble; strangers' names of tensors are among them
Arrays = Callable[[], Mapping[str, Any]]  # names with torch tensors or numpy arrays, made when they are asked for


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """How much a recorder keeps, and how long it may hold a round up.

    Args:
        rounds: the first so many are recorded.
        clients: in a round, the first so many that answer.
        megabytes: of tensors, in all.
        waiting: megabytes that may wait to be written.
        patience: seconds that a round waits for the disk, at most; then an update is left out, and that is told.
    """

    rounds: int = 100
    clients: int = 100
    megabytes: int = 4000
    waiting: int = 1000
    patience: float = 0.5

    def __post_init__(self) -> None:
        for name in ("rounds", "clients", "megabytes", "waiting"):
            value = getattr(self, name)
            if type(value) is not int or value < 1:
                raise InputError(f"The recorder's bound {name!r} is {value!r}; it must be a whole number, 1 or above.")
        if not 0 <= self.patience <= 60:
            raise InputError(f"The recorder's patience is {self.patience!r}; it must be 0 to 60 seconds.")


@dataclass(frozen=True, kw_only=True)
class _Reply:
    """One update that waits to be written."""

    round: int
    client: str
    kind: Kind
    before: _Once
    sent: Arrays
    size: int
    facts: Mapping[str, Any]


@dataclass(eq=False)
class _Once:
    """Weights that were sent out, made into arrays when the first answer to them is written."""

    arrays: Arrays
    found: Tensors | None = None

    def __call__(self) -> Tensors:
        if self.found is None:
            self.found = as_arrays(self.arrays(), "What the server sent")
        return self.found


@dataclass
class _State:
    """What training and writer share, under one lock."""

    waiting: deque[_Reply] = field(default_factory=deque)
    bytes_waiting: int = 0
    bytes_kept: int = 0
    ended: bool = False  # no more is taken
    clients: dict[int, set[str]] = field(default_factory=dict)  # by round
    told: set[str] = field(default_factory=set)
    written: int = 0


class Recorder:
    """Writes a capture while a federation trains.

    Args:
        folder: of the capture. One that is there is left alone, and ``folder-2`` is written: a training has a capture
            of its own. The salt of the clients' names is kept beside it, in ``folder.salt``, for its owner only; it is
            no part of the capture, so that whoever is given the capture cannot find out whose an update is.
        framework: that runs the federation.
        bounds: how much is kept.
        logger: where it tells what it does.
        facts: of the protocol (:class:`seepage.captures.CaptureFacts`), as far as every update has the same.
    """

    def __init__(
        self,
        folder: str | Path,
        *,
        framework: Framework,
        bounds: Bounds | None = None,
        logger: logging.Logger | None = None,
        facts: Mapping[str, Any] | None = None,
    ) -> None:
        _check_facts(facts or {})
        self.asked = user_path(folder)
        self.folder: Path | None = None  # known when the first update is written
        self.framework, self.bounds, self.facts = framework, bounds or Bounds(), dict(facts or {})
        self._log = logger or logging.getLogger("seepage.recorder")
        self._sent: dict[tuple[int, str | None], _Once] = {}
        self._state, self._changed = _State(), threading.Condition()
        self._salt: bytes | None = None
        self._writer: threading.Thread | None = None
        atexit.register(self.close)

    def sent(self, round: int, arrays: Arrays, client: str | None = None) -> None:
        """Keep what the server sends out in a round: to one client, or to every client of which nothing is said.

        What was sent in earlier rounds is forgotten, so an answer must come in its round. What several clients are
        sent is read and written once, if it is given by one and the same function.
        """
        with self._changed:
            for key in [each for each in self._sent if each[0] != round]:
                del self._sent[key]
            same = [each for each in self._sent.values() if each.arrays is arrays]
            self._sent[round, client] = same[0] if same else _Once(arrays)

    def received(
        self, round: int, client: str, arrays: Arrays, *, size: int, kind: Kind = "after", **facts: Any
    ) -> None:
        """Take one client's answer.

        Args:
            arrays: makes the tensors; it is called later, in another thread.
            size: of them, in bytes.
            kind: whether they are the weights after training, their change, or a gradient.
            facts: of this update: ``rows`` at least, unless every update has the same.
        """
        with self._changed:
            before = self._sent.get((round, client)) or self._sent.get((round, None))
            kept = size if round in self._state.clients else 2 * size  # with what was sent out
            if self._state.ended or not self._wanted(round, client, kept):
                return
            if before is None:
                self.tell("unsent", f"What was sent out in round {round} was not seen, so its updates are left out.")
                return
            wait_until = time.monotonic() + self.bounds.patience
            while self._state.waiting and self._state.bytes_waiting + size > self.bounds.waiting * 1_000_000:
                left = wait_until - time.monotonic()
                if left <= 0 or not self._changed.wait(left):
                    self.tell("slow", "The disk is too slow for the updates; some are left out.")
                    return
            known = {**self.facts, **{name: value for name, value in facts.items() if value is not None}}
            reply = _Reply(round=round, client=client, kind=kind, before=before, sent=arrays, size=size, facts=known)
            self._state.waiting.append(reply)
            self._state.bytes_waiting += size
            self._state.bytes_kept += kept
            self._state.clients.setdefault(round, set()).add(client)
            self._start()
            self._changed.notify_all()

    def _wanted(self, round: int, client: str, size: int) -> bool:
        """Whether an update is within the bounds, and is the first of its client in the round."""
        state, bounds = self._state, self.bounds
        seen = state.clients.get(round, set())
        if client in seen:
            self.tell("twice", "A client answered twice in a round; its first answer is recorded.")
            return False
        if round not in state.clients and len(state.clients) >= bounds.rounds:
            self.tell("rounds", f"The capture has {bounds.rounds} rounds, as many as it may; no more are recorded.")
            return False
        if len(seen) >= bounds.clients:
            self.tell("clients", f"A round has more than {bounds.clients} clients; the others are not recorded.")
            return False
        if state.bytes_kept + size > bounds.megabytes * 1_000_000:
            self.tell("bytes", f"The capture has {bounds.megabytes:,} megabytes, as many as it may; recording ends.")
            return False
        return True

    def tell(self, about: str, what: str) -> None:
        """Say something in the log, once."""
        with self._changed:
            new = about not in self._state.told and len(self._state.told) < MOST_TOLD
            self._state.told.add(about)
        if new:
            self._log.warning("Seepage's recorder: %s The training is not affected.", what)

    def _start(self) -> None:
        if self._writer is None:
            self._writer = threading.Thread(target=self._write_all, name="seepage-recorder", daemon=True)
            self._writer.start()

    def _write_all(self) -> None:
        """Write what waits, as much at once as there is, until the recorder is closed."""
        try:
            while True:
                with self._changed:
                    self._changed.wait_for(lambda: self._state.waiting or self._state.ended)
                    replies = list(self._state.waiting)
                    if not replies:
                        return
                try:
                    self._write(replies)
                except NotWritten as error:  # a full disk among them
                    self.tell("disk", f"{error} Recording ends.")
                    return
                finally:
                    with self._changed:
                        for each in replies:
                            self._state.waiting.popleft()
                            self._state.bytes_waiting -= each.size
                        self._changed.notify_all()
        finally:
            with self._changed:
                self._state.ended = True
                self._state.waiting.clear()
                self._changed.notify_all()

    def _write(self, replies: list[_Reply]) -> None:
        updates = []
        for reply in replies:
            try:
                updates.append(self._made(reply))
            except NotWritten:
                raise
            except InputError as error:
                self.tell(str(error), f"An update of round {reply.round} cannot be audited and is left out. {error}")
        if updates:
            if self.folder is None:
                self.folder = _free(self.asked)
                self._log.info("Seepage's recorder: updates are written to %s", self.folder)
            append(self.folder, updates, framework=self.framework)
            self._state.written += len(updates)

    def _made(self, reply: _Reply) -> Update:
        return made(
            round=reply.round,
            client=pseudonym(reply.client, self._name_salt()),
            kind=reply.kind,
            before=reply.before(),
            sent=as_arrays(reply.sent(), "What the client sent"),
            facts=reply.facts,
        )

    def _name_salt(self) -> bytes:
        """The salt of the clients' names, which stays on this machine: the same for all trainings of one name."""
        if self._salt is None:
            self._salt = kept_salt(self.asked.with_name(f"{self.asked.name}.salt"))
        return self._salt

    def close(self, timeout: float = 60.0) -> None:
        """Write what waits, and end; called by itself when the process ends."""
        with self._changed:
            self._state.ended = True
            self._changed.notify_all()
        if self._writer is not None and self._writer is not threading.current_thread():
            self._writer.join(timeout)
            if self._writer.is_alive():
                self.tell("late", f"Some updates were not written within {timeout:g} seconds.")
        if self._state.written and "end" not in self._state.told:
            self._state.told.add("end")
            rounds = len(self._state.clients)
            said = f"{self._state.written:,} updates of {rounds:,} {'round' if rounds == 1 else 'rounds'}"
            self._log.info("Seepage's recorder: %s in %s", said, self.folder)


def _check_facts(facts: Mapping[str, Any]) -> None:
    """Stop with a sentence, before any training, at facts that cannot be."""
    try:
        CaptureFacts(**{"rows": 1_000_000, **facts})
    except ValidationError as error:
        raise InputError(sentence(error)) from None


def _free(asked: Path) -> Path:
    """The folder that was asked for, or, if that is taken, one with a number."""
    number, place = 1, asked
    while place.exists():
        number += 1
        place = asked.with_name(f"{asked.name}-{number}")
    return place
