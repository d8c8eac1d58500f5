"""The host as a program: aligns rows with its guests, sets them up, trains, and writes its own part of the model."""

from __future__ import annotations

import json
import secrets
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load, save

from seepage._core import InputError, Progress, Streams, silent
from seepage._core.files import write_atomically
from seepage._core.names import HOST
from seepage.federation.network.agreement import Agreement, HostModel, HostRows
from seepage.federation.network.arranging import (
    Align,
    Aligned,
    Greeted,
    Parts,
    Schedule,
    SetUp,
    Step,
    Width,
    read_facts,
)
from seepage.federation.network.everybody import Apart, Everybody
from seepage.federation.network.guest_tables import built_guest
from seepage.federation.network.host_run import read_run, write_run
from seepage.federation.network.message_log import MessageLog
from seepage.federation.network.own_state import KeptGuest, OwnStates
from seepage.federation.network.remote import Remote
from seepage.federation.network.wire import packed_tensors
from seepage.federation.vertical import Columns, HostSide, Kind, new_session, shared_by_all
from seepage.federation.vertical.conducting import Conductor
from seepage.federation.vertical.designs import final_mapping
from seepage.federation.vertical.failures import Cache, Failures
from seepage.federation.vertical.host import Host
from seepage.federation.vertical.messages import SilentPartyError
from seepage.federation.vertical.named_designs import make_design
from seepage.federation.vertical.saved import party_files, plain, read_party, set_weights, write_party
from seepage.federation.vertical.schedule import History
from seepage.federation.vertical.training import drawn

SPLIT, MODEL = "rows.safetensors", "model"


class HostParty:
    """Trains with guests on other machines, and predicts with them.

    Args:
        rows: what the host brings.
        agreement: how all train.
        remote: the guests.
        folder: of the host; its states, its part of the model and its log lie there.
        log: of all frames.
    """

    def __init__(self, rows: HostRows, agreement: Agreement, remote: Remote, folder: Path, log: MessageLog) -> None:
        self._rows, self._agreement, self._remote = rows, agreement, remote
        self._folder, self._log = folder, log
        self._states = OwnStates(folder / "states")
        self._design = make_design(agreement.design, agreement.aggregation)
        self._streams = Streams(secrets.randbits(63) if agreement.seed is None else agreement.seed)
        self.history = History()

    def train(self, progress: Progress = silent) -> HostModel:
        """Align, set up and train, or go on where a kill left it; at the end every party has its part of the model."""
        greeted = {name: read_facts(Greeted, facts, name) for name, facts in self._remote.connect().items()}
        known = read_run(self._folder)
        fresh = [name for name, each in greeted.items() if not each.ready]
        if fresh and self._states.names:
            raise SilentPartyError(
                f"Guest {', '.join(map(repr, fresh))} does not know this training any more; bring its folder back, or "
                "begin anew with another folder of the host."
            )
        if fresh or "widths" not in known:
            split = self._aligned()
            model = self._set_up(split)
        else:
            split = {name: value.numpy() for name, value in load((self._folder / SPLIT).read_bytes()).items()}
            model = self._built(split, known["widths"], recover=True)
        conductor = Conductor(
            model.host,
            training=self._agreement.training,
            local=self._design.local,
            failures=Failures(method=self._agreement.absent),  # type: ignore[arg-type]
            streams=self._streams,
            waits=self._agreement.waits,
            given_up=self._remote.patience.connect,
        )
        states = Apart(self._states, self._remote, self._log)
        self.history = conductor.fit(split["train"], split["validation"], states=states, progress=progress)
        self._finish(model)
        return model

    def predict(self, new: HostRows) -> tuple[np.ndarray, np.ndarray]:
        """(common,) rows of the new people that all parties know, and (common, classes) their probabilities."""
        known, place = read_run(self._folder), self._folder / MODEL / HOST
        if "widths" not in known or not place.is_dir():
            raise InputError(f"{self._folder} holds no finished training to predict with.")
        for name, facts in self._remote.connect().items():
            if not read_facts(Greeted, facts, name).ready:
                raise InputError(f"Guest {name!r} does not know the training in {self._folder}; bring its folder back.")
        split = {name: value.numpy() for name, value in load((self._folder / SPLIT).read_bytes()).items()}
        model = self._built(split, known["widths"], recover=True)
        weights = read_party(place).get("weights.safetensors", b"")
        set_weights(model.host.learning.modules, weights, place / "weights.safetensors")
        rows = self._common(new, "new")
        for name in self._remote.guests:
            self._remote.arrange(name, Step.PREDICT)
        if model.own is not None and model.columns is not None and new.frame is not None:
            model.own.guest.load(model.columns.encode(new.frame[rows]))
        model.host.cache = Cache(len(rows), "zeros")
        logits = model.host.logits(model.host.latent(torch.arange(len(rows))))
        return rows, torch.softmax(logits, 1).numpy()

    def _aligned(self) -> dict[str, np.ndarray]:
        """The common rows of the host, cut in rows to train on, to decide when to stop, and to judge by."""
        rows = self._common(self._rows, "training")
        count = len(rows)
        order = self._streams.numpy("split").permutation(count)
        test, held = (max(1, round(share * count)) for share in (self._agreement.test, self._agreement.validation))
        if count - test - held < 2:
            raise InputError(f"The parties have {count} row(s) in common; that is too few to train on.")
        split = {
            "rows": rows,
            "test": order[:test],
            "validation": order[test : test + held],
            "train": order[test + held :],
        }
        write_atomically(
            self._folder / SPLIT, save({name: torch.from_numpy(value.copy()) for name, value in split.items()})
        )
        return split

    def _common(self, own: HostRows, table: str) -> np.ndarray:
        """Rows of ours that all guests have too, in the common order; guests have taken theirs."""
        if own.keys is None:
            for name in self._remote.guests:
                facts = Align(way="order", table=table, rows=len(own.labels))  # type: ignore[arg-type]
                self._remote.arrange(name, Step.ALIGN, facts.model_dump())
            return np.arange(len(own.labels))
        sides, asked, matches = {}, {}, {}
        for name in self._remote.guests:
            session = new_session()
            sides[name] = HostSide(name, own.keys.texts, session)
            asked[name] = Align(way="psi", table=table, session=session.hex())  # type: ignore[arg-type]
            answer = self._remote.arrange(name, Step.ALIGN, asked[name].model_dump(), sides[name].ask())
            matches[name] = sides[name].match(answer.body)
        shared = shared_by_all(matches)
        for name, side in sides.items():
            told = self._remote.arrange(name, Step.ALIGNED, asked[name].model_dump(), side.tell(shared))
            if read_facts(Aligned, told.header.facts, name).rows != len(shared):
                raise InputError(f"Guest {name!r} counts other common rows than the host.")
        rows: np.ndarray = own.keys.rows[shared]
        return rows

    def _set_up(self, split: dict[str, np.ndarray]) -> HostModel:
        train = torch.from_numpy(split["train"]).int()
        own = [] if self._rows.frame is None else [self._rows.name]
        everybody = [*own, *self._remote.guests]
        widths = []
        for place, name in enumerate(everybody):
            facts = self._facts(place, len(everybody))
            if name in own:
                widths.append(self._own_columns(split).encoder.layout.width)
                continue
            answer = self._remote.arrange(
                name, Step.SET_UP, facts.model_dump(), packed_tensors({Kind.BATCH_IDS: train})
            )
            widths.append(read_facts(Width, answer.header.facts, name).width)
        write_run(self._folder, read_run(self._folder) | {"widths": widths})
        return self._built(split, widths, recover=False)

    def _facts(self, place: int, guests: int) -> SetUp:
        agreement = self._agreement
        parts = {name: getattr(agreement.parts, name) for name in Parts.model_fields}
        return SetUp(
            target=self._rows.target,
            design=agreement.design,
            aggregation=agreement.aggregation,
            place=place,
            guests=guests,
            parts=Parts(**parts),
            schedule=Schedule(**{name: getattr(agreement.training, name) for name in Schedule.model_fields}),
        )

    def _own_columns(self, split: dict[str, np.ndarray]) -> Columns:
        assert self._rows.frame is not None
        return Columns.fit(self._rows.name, self._rows.frame[split["rows"]], split["train"])

    def _built(self, split: dict[str, np.ndarray], widths: list[int], *, recover: bool) -> HostModel:
        """The host's part, and the guest in this process that has its own columns."""
        own: dict[str, KeptGuest] = {}
        columns = None
        if self._rows.frame is not None:
            columns = self._own_columns(split)
            encoded = columns.encode(self._rows.frame[split["rows"]])
            guest = built_guest(self._rows.name, self._facts(0, len(widths)), encoded, self._agreement.seed)
            kept = KeptGuest(guest, OwnStates(self._folder / "states" / self._rows.name))
            if not (recover and kept.recover()):
                kept.begin()
            own = {self._rows.name: kept}
        parts, streams = self._agreement.parts, self._streams
        labels = torch.from_numpy(self._rows.labels[split["rows"]])
        host = Host(
            drawn(streams.child("party", HOST), lambda: self._design.top(parts, widths)),
            drawn(
                streams.child("party", HOST, "mapping"), lambda: final_mapping(parts.latent, len(self._rows.classes))
            ),
            labels,
            Everybody(own, self._remote),
            Cache(len(labels), self._agreement.absent),  # type: ignore[arg-type]
            training=self._agreement.training,
        )
        return HostModel(host=host, own=own.get(self._rows.name), columns=columns, split=split, labels=labels.numpy())

    def _finish(self, model: HostModel) -> None:
        """Write our part, and let the guests write theirs; one that is away has some time left to come back."""
        place = self._folder / MODEL
        if model.own is not None and model.columns is not None:
            write_party(
                place / self._rows.name, party_files(model.columns, model.own.guest.learning.modules.state_dict())
            )
        facts = {"guests": list(model.host.guests), "classes": list(self._rows.classes)}
        weights = plain(model.host.learning.modules.state_dict())
        write_party(place / HOST, {"weights.safetensors": save(weights), "model.json": json.dumps(facts, indent=1)})
        self._log.sign()
        self._remote.wait(self._remote.missing)
        model.host.welcome()  # who was away learns what it missed
        for name in self._remote.guests:
            self._remote.arrange(name, Step.FINISH)
