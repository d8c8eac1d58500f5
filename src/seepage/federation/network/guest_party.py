"""A guest as a program: it answers frames, whoever carries them, and keeps its own rows, weights and states."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import numpy as np
import polars as pl
import torch
from safetensors.torch import load, save
from torch import Tensor

from seepage._core import InputError
from seepage._core.files import sealed, unsealed, write_atomically
from seepage._core.names import HOST
from seepage.data.row_keys import read_keys
from seepage.federation.network.arranging import Align, Aligned, Greeted, Hello, SetUp, Step, Width, read_facts
from seepage.federation.network.guest_tables import GuestTables, built_guest
from seepage.federation.network.message_log import MessageLog
from seepage.federation.network.own_state import KeptGuest, OwnStates
from seepage.federation.network.wire import (
    Frame,
    opened_frame,
    opened_message,
    opened_tensors,
    packed_message,
    parted,
)
from seepage.federation.vertical import Columns, GuestSide, Instruction, Kind, Message, PartyError
from seepage.federation.vertical.saved import columns_of, party_files, read_party, write_party

RUNS, MODEL, FACTS, ROWS = "runs", "model", "run.json", "rows.safetensors"
SESSIONS = 10_000  # that are remembered, so that none is begun twice


class NoSession(Exception):
    """The host speaks of a session that this process does not know: it started anew, and the host must say hello."""


class GuestParty:
    """Answers the host's frames one at a time.

    Args:
        tables: what it brings.
        folder: its own; states, model and log lie there.
        log: of all frames.
    """

    def __init__(self, tables: GuestTables, folder: Path, log: MessageLog) -> None:
        self._tables, self._folder, self._log = tables, folder, log
        self._session, self._number, self._begun = "", -1, set[str]()
        self._run = ""
        self._side: GuestSide | None = None
        self._aligning: pl.DataFrame | None = None
        self._keys = np.empty(0, dtype=np.int64)
        self._frame: pl.DataFrame | None = None
        self._columns: Columns | None = None
        self._guest: KeptGuest | None = None
        self._rows, self._table = np.empty(0, dtype=np.int64), ""
        self._steps: dict[str, Callable[[Frame], Frame]] = {
            Step.ALIGN: self._align,
            Step.ALIGNED: self._aligned,
            Step.SET_UP: self._set_up,
            Step.FINISH: self._finish,
            Step.PREDICT: self._predict,
        }

    def respond(self, content: bytes) -> bytes:
        """The answer to a question. PartyError says what is wrong with it; NoSession asks for a hello.

        A question may bring a gradient of the batch before, which is learned first and needs no answer of its own.
        """
        *before, last = parted(content, self._tables.host)
        for each in before:
            frame = opened_frame(each, self._tables.host)
            if frame.header.step != Instruction.LEARN:
                raise PartyError(f"Party {self._tables.host!r} sent {frame.header.step!r} together with a question.")
            self._check_turn(frame)
            self._trained(self._received(frame, each))
        return self._answered(last)

    def _answered(self, content: bytes) -> bytes:
        frame = opened_frame(content, self._tables.host)
        if frame.header.step == Step.HELLO:
            self._note("received", frame.header.step, {}, content)
            return self._sent(self._hello(frame))
        self._check_turn(frame)
        if frame.header.step in self._steps:
            self._note("received", frame.header.step, {frame.header.step: len(frame.body)}, content)
            return self._sent(self._steps[frame.header.step](frame))
        answer = self._trained(self._received(frame, content))
        packed = packed_message(answer, frame.header.session, frame.header.number)
        self._note("sent", answer.task.value, _sizes(answer), packed)
        return packed

    def _received(self, frame: Frame, content: bytes) -> Message:
        message = opened_message(frame, HOST, self._tables.name)
        self._note("received", message.task.value, _sizes(message), content)
        return message

    def close(self) -> None:
        """Vouch for what was logged."""
        self._log.close()

    def _check_turn(self, frame: Frame) -> None:
        if not self._session or frame.header.session != self._session:
            raise NoSession
        if frame.header.number <= self._number:
            raise PartyError(
                f"Message {frame.header.number} came after message {self._number}: it is replayed or too late."
            )
        self._number = frame.header.number

    def _hello(self, frame: Frame) -> Frame:
        said = read_facts(Hello, frame.header.facts, self._tables.host)
        if said.guest != self._tables.name:
            raise PartyError(f"This is guest {self._tables.name!r}; the host looks for {said.guest[:64]!r}.")
        if frame.header.session in self._begun or len(self._begun) >= SESSIONS:
            raise PartyError("A hello came twice, or too many came; start the guest again.")
        self._begun.add(frame.header.session)
        self._session, self._number = frame.header.session, frame.header.number
        if said.run != self._run:
            self._run = said.run
            self._guest = self._columns = self._frame = None
            self._recover()
        ready = Greeted(seepage=version("seepage"), ready=self._guest is not None)
        return frame.answer(ready.model_dump())

    @property
    def _place(self) -> Path:
        return self._folder / RUNS / self._run

    def _align(self, frame: Frame) -> Frame:
        facts = read_facts(Align, frame.header.facts, self._tables.host)
        table = self._read(facts.table)
        if facts.way == "order":
            if table.height != facts.rows:
                raise PartyError(f"The host has {facts.rows:,} rows, {self._tables.name!r} has {table.height:,}.")
            self._take(table, np.arange(table.height), facts.table)
            return frame.answer(Aligned(rows=table.height).model_dump())
        if not self._tables.keys:
            raise PartyError(f"Guest {self._tables.name!r} has no key configured to align rows by.")
        own = read_keys(self._tables.name, *(table[key] for key in self._tables.keys), form=self._tables.form)
        self._side = GuestSide(HOST, own.texts, bytes.fromhex(facts.session), most=self._tables.most)
        self._aligning, self._keys = table, own.rows
        return frame.answer({"table": facts.table}, self._side.answer(frame.body))

    def _aligned(self, frame: Frame) -> Frame:
        facts = read_facts(Align, frame.header.facts, self._tables.host)
        if self._side is None or self._aligning is None:
            raise PartyError("There is no alignment to end.")
        rows = self._keys[self._side.rows(frame.body)]
        self._take(self._aligning, rows, facts.table)
        self._side = self._aligning = None
        return frame.answer(Aligned(rows=len(rows)).model_dump())

    def _read(self, which: str) -> pl.DataFrame:
        read = self._tables.training if which == "training" else self._tables.new
        if read is None:
            raise PartyError(f"Guest {self._tables.name!r} has no table of new people (`new` in its configuration).")
        return read()

    def _take(self, table: pl.DataFrame, rows: np.ndarray, which: str) -> None:
        if which == "new" and self._guest is None:
            raise PartyError("There is no model yet to predict new people with.")
        self._frame = table[rows].drop(list(self._tables.keys), strict=False)
        if which == "training":
            self._guest, self._rows, self._table = None, rows, _digest(table)

    def _set_up(self, frame: Frame) -> Frame:
        facts = read_facts(SetUp, frame.header.facts, self._tables.host)
        if self._frame is None:
            raise PartyError("Rows must be aligned before the model is set up.")
        if facts.target in self._frame.columns:
            raise PartyError(
                f"Guest {self._tables.name!r} has a column of the name of the host's target, so labels would lie at "
                "two parties; leave it out (leave_out in its configuration), or rename it."
            )
        train = opened_tensors(frame.body, self._tables.host).get(Kind.BATCH_IDS)
        if train is None or not len(train) or int(train.min()) < 0 or int(train.max()) >= self._frame.height:
            raise PartyError("The training rows that the host names are none of the common rows.")
        self._columns = Columns.fit(self._tables.name, self._frame, train.numpy())
        self._guest = self._built(facts, self._columns.encode(self._frame))
        self._keep(facts)
        self._guest.begin()
        return frame.answer(Width(width=self._guest.width).model_dump())

    def _built(self, facts: SetUp, encoded: Tensor) -> KeptGuest:
        guest = built_guest(self._tables.name, facts, encoded, self._tables.seed)
        return KeptGuest(guest, OwnStates(self._place / "states"))

    def _keep(self, facts: SetUp) -> None:
        """What this run needs to go on after a kill: sizes, columns, and which rows are common. No row is copied."""
        assert self._columns is not None
        write_party(self._place / MODEL, party_files(self._columns, {}))
        write_atomically(self._place / ROWS, save({"rows": torch.from_numpy(self._rows)}))
        document = {"set_up": facts.model_dump(), "table": self._table}
        write_atomically(self._place / FACTS, sealed(json.dumps(document, indent=1)))

    def _recover(self) -> None:
        """Go on with a run that this party knows from before it was stopped."""
        file = self._place / FACTS
        content = unsealed(file.read_bytes()) if file.is_file() else None
        if content is None:
            return
        known = json.loads(content)
        table = self._tables.training()
        if _digest(table) != known["table"]:
            raise PartyError(f"The table of guest {self._tables.name!r} has changed since this training began.")
        rows: np.ndarray = load((self._place / ROWS).read_bytes())["rows"].numpy()
        self._take(table, rows, "training")
        self._columns = columns_of(self._tables.name, read_party(self._place / MODEL), self._place / MODEL)
        assert self._frame is not None
        facts = SetUp.model_validate(known["set_up"])
        self._guest = self._built(facts, self._columns.encode(self._frame))
        if not self._guest.recover():
            self._guest = None  # nothing of it is whole: the host must set it up again

    def _trained(self, message: Message) -> Message:
        if self._guest is None:
            raise PartyError(f"Guest {self._tables.name!r} has no model yet.")
        answer = self._guest.respond(message)
        if message.task == Instruction.SAVE:
            self._log.sign()
        return answer

    def _finish(self, frame: Frame) -> Frame:
        if self._guest is None or self._columns is None:
            raise PartyError(f"Guest {self._tables.name!r} has no model to finish.")
        weights = self._guest.guest.learning.modules.state_dict()
        write_party(self._folder / MODEL, party_files(self._columns, weights))
        self._guest.begin()
        self._log.sign()
        return frame.answer()

    def _predict(self, frame: Frame) -> Frame:
        if self._guest is None or self._columns is None or self._frame is None:
            raise PartyError("There is no model yet to predict new people with.")
        try:
            self._guest.guest.load(self._columns.encode(self._frame))
        except InputError as error:
            raise PartyError(str(error)) from None
        self._run = ""  # the next hello finds the rows of the training again
        return frame.answer(Aligned(rows=self._frame.height).model_dump())

    def _sent(self, frame: Frame) -> bytes:
        content = frame.packed()
        self._note("sent", frame.header.step, {frame.header.step: len(frame.body)}, content)
        return content

    def _note(self, way: str, step: str, sizes: dict[str, int], content: bytes) -> None:
        self._log.note("sent" if way == "sent" else "received", self._tables.host, step, sizes, content)


def _sizes(message: Message) -> dict[str, int]:
    return {kind.value: size for kind, size in message.sizes.items()}


def _digest(table: pl.DataFrame) -> str:
    """Equal for the same cells in the same order."""
    return hashlib.blake2b(table.hash_rows(0).to_numpy().tobytes(), digest_size=16).hexdigest()
