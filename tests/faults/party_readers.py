"""What parties on other machines send and keep, as functions of bytes: any bytes give an InputError, or nothing."""

from __future__ import annotations

import itertools
import struct
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import torch

from seepage.federation.network.config import GuestConfig, HostConfig, read_config
from seepage.federation.network.guest_party import GuestParty, NoSession
from seepage.federation.network.guest_tables import GuestTables
from seepage.federation.network.message_log import MessageLog, check_log
from seepage.federation.network.wire import Frame, Header, packed_tensors
from seepage.federation.vertical import GuestSide, HostSide, Kind
from tests.faults.bending import Choices, as_json, as_toml, bent_bytes

SESSION, RUN, PSI = "ab" * 16, "cd" * 16, b"s" * 32
ROWS = 12
STAMP = {"phase": "fine-tuning", "epoch": 0, "batch": 0, "training": True}
PARTS = {"latent": 2, "attention": 2, "steps": 1, "virtual_batch": 8}
SCHEDULE = {
    "pretraining": 1, "finetuning": 1, "batch_size": 4, "rate": 0.1, "clip": 1.0, "hidden": 0.2, "sparsity": 0.0,
    "patience": 0,
}  # fmt: skip
SET_UP = {
    "target": "died",
    "design": "tabvfl",
    "aggregation": None,
    "place": 0,
    "guests": 1,
    "parts": PARTS,
    "schedule": SCHEDULE,
}
_KEPT: list[tempfile.TemporaryDirectory[str]] = []
_numbers = itertools.count(10)


@cache
def _folder() -> Path:
    memory = Path("/dev/shm")
    kept = tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None, prefix="seepage-fuzz-")
    _KEPT.append(kept)
    return Path(kept.name)


class _NoLog(MessageLog):
    """Lines of a hundred thousand inputs are not kept."""

    def __init__(self) -> None: ...

    def note(self, *_: object) -> None: ...

    def sign(self) -> None: ...


@cache
def _guest() -> GuestParty:
    """A guest that has aligned its rows and has a model."""
    draws = np.random.default_rng(0).normal(size=(ROWS, 2))
    table = pl.DataFrame({"person": [f"p{row}" for row in range(ROWS)], "x": draws[:, 0], "y": draws[:, 1]})
    tables = GuestTables(name="lab", host="hospital", training=lambda: table, keys=("person",))
    party = GuestParty(tables, _folder() / "guest", _NoLog())
    for step, facts, body in _good()[:3]:
        party.respond(Frame(Header(session=SESSION, number=next(_numbers), step=step, facts=facts), body).packed())
    return party


@cache
def _good() -> list[tuple[str, dict[str, Any], bytes]]:
    """Frames of an honest host: what is asked, its facts, its body."""
    ids = packed_tensors({Kind.BATCH_IDS: torch.arange(4, dtype=torch.int32)})
    gradient = packed_tensors({Kind.GRADIENT: torch.ones(4, 2)})
    host = HostSide("lab", [b"p1", b"p2"], PSI, workers=1)
    return [
        ("hello", {"run": RUN, "guest": "lab"}, b""),
        ("align", {"way": "order", "table": "training", "session": "", "rows": ROWS}, b""),
        ("set up", SET_UP, ids),
        ("compute", {}, ids),
        ("learn", {}, gradient),
        ("align", {"way": "psi", "table": "training", "session": PSI.hex(), "rows": 0}, host.ask()),
        ("aligned", {"way": "psi", "table": "training", "session": PSI.hex(), "rows": 0}, b""),
        ("rebuild", {"beyond": [4, 2]}, b""),
        ("save", {}, b""),
    ]


def frames(content: bytes) -> None:
    """A guest that is asked by a host which says anything."""
    choices = Choices(content)
    good = _good()
    step, facts, body = good[choices.below(len(good))]
    rest = content[2:]
    document = {"session": SESSION, "number": next(_numbers), "step": step, "nonce": "0" * 32, "facts": facts}
    header = as_json(document | {"stamp": STAMP}, rest) if rest[-1:] < b"\x80" else as_json(document, rest)
    if rest[-2:-1] < b"\x40":
        body = bent_bytes(body, rest)
    with suppress(NoSession):
        _guest().respond(struct.pack("<4sHI", b"SEEP", 1, len(header)) + header + body)


@cache
def _sides() -> tuple[bytes, bytes, bytes]:
    host, guest = HostSide("lab", [b"p1", b"p2"], PSI, workers=1), GuestSide("host", [b"p2", b"p3"], PSI, workers=1)
    answer = guest.answer(host.ask())
    return host.ask(), answer, host.tell(host.match(answer))


def intersections(content: bytes) -> None:
    """Messages of the private set intersection, at both sides."""
    asked, answered, told = _sides()
    host, guest = HostSide("lab", [b"p1", b"p2"], PSI, workers=1), GuestSide("host", [b"p2", b"p3"], PSI, workers=1)
    match sum(content[-2:]) % 3:
        case 0:
            guest.answer(bent_bytes(asked, content))
        case 1:
            host.match(bent_bytes(answered, content))
        case _:
            guest.answer(asked)
            guest.rows(bent_bytes(told, content))


HOST: dict[str, Any] = {
    "name": "hospital", "table": "a.csv", "key": ["person"], "target": "died", "folder": "run", "plain": True,
    "guests": {"lab": "127.0.0.1:1"}, "training": {"latent": 4, "design": "tabvfl"}, "patience": {"answer": 3.0},
    "key_format": {"case": "fold"},
}  # fmt: skip
GUEST: dict[str, Any] = {
    "name": "lab", "host": "hospital", "listen": "127.0.0.1:0", "table": "a.csv", "folder": "run",
    "tls": {"authority": "a", "certificate": "b", "key": "c"}, "seed": 3,
}  # fmt: skip


def party_config(content: bytes) -> None:
    path = _folder() / "party.toml"
    if sum(content[-2:]) % 2:
        path.write_bytes(as_toml(HOST, content))
        read_config(HostConfig, path)
    else:
        path.write_bytes(as_toml(GUEST, content))
        read_config(GuestConfig, path)


@cache
def _log() -> bytes:
    log = MessageLog(_folder() / "good", "lab", None)
    for number in range(3):
        log.note("sent", "hospital", "compute", {"batch ids": number}, b"x")
    log.close()
    return log.path.read_bytes()


def party_log(content: bytes) -> None:
    good, folder = _log(), _folder() / "logs"
    folder.mkdir(exist_ok=True)
    (folder / "messages-0001.jsonl").write_bytes(bent_bytes(good, content))
    check_log(folder, None)
