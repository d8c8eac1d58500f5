"""Reads a capture: its facts at once, its tensors when they are asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from seepage._core import InputError
from seepage._core.files import digest, unsealed
from seepage._core.paths import user_path
from seepage.captures.clients import is_pseudonym
from seepage.captures.facts import MOST_ROWS, CaptureFacts
from seepage.captures.tensors import COUNTER, Tensors, read_tensors

VERSION: Literal[1] = 1
INDEX = "capture.json"
TENSORS = "tensors"
LARGEST = 64 << 20  # bytes of capture.json
MOST_UPDATES = 100_000

Kind = Literal["gradient", "after", "change"]
SAID = {
    "gradient": "a gradient",
    "after": "the weights after local training",
    "change": "the change of the weights by local training",
}


class StoredEntry(BaseModel):
    """One update of one client, as ``capture.json`` tells it; tensors are files named after their digests."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    round: Annotated[int, Field(ge=0, le=MOST_ROWS)]
    client: str
    kind: Kind
    facts: CaptureFacts
    before: Annotated[str, Field(pattern="^[0-9a-f]{32}$")]
    sent: Annotated[str, Field(pattern="^[0-9a-f]{32}$")]


class Framework(BaseModel):
    """The program that ran the federation, where a recorder of ours wrote the capture."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    name: Literal["flower", "nvflare"]
    version: Annotated[str, Field(pattern=r"^[0-9A-Za-z.+_-]{1,40}$")]


class Index(BaseModel):
    """What ``capture.json`` holds."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    schema_version: Literal[1] = VERSION
    framework: Framework | None = None
    entries: Annotated[tuple[StoredEntry, ...], Field(strict=False, max_length=MOST_UPDATES)] = ()


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One update of one client in one round.

    Args:
        stored: what the capture says about it.
        tensors: reads its tensors, by the names that ``stored`` has for them.
    """

    stored: StoredEntry
    tensors: Callable[[str], Tensors]

    @property
    def round(self) -> int:
        return self.stored.round

    @property
    def client(self) -> str:
        """The client's name, hashed."""
        return self.stored.client

    @property
    def kind(self) -> Kind:
        """What was sent: a gradient, the weights after local training, or their change."""
        return self.stored.kind

    @property
    def facts(self) -> CaptureFacts:
        return self.stored.facts

    @property
    def protocol(self) -> Literal["fedsgd", "fedavg"]:
        """A client that sends a gradient does FedSGD; one that trains by itself FedAvg."""
        return "fedsgd" if self.kind == "gradient" else "fedavg"

    @property
    def digest(self) -> str:
        """Equal for equal updates."""
        return digest(self.stored.model_dump_json().encode())

    def before(self) -> Tensors:
        """The weights that the client was sent."""
        return self.tensors(self.stored.before)

    def sent(self) -> Tensors:
        """What it sent back, as it was captured."""
        return self.tensors(self.stored.sent)

    def update(self) -> Tensors:
        """The gradient, or the change of the weights; counters of BatchNorm are no part of it."""
        sent = {name: value for name, value in self.sent().items() if not name.endswith(COUNTER)}
        if self.kind != "after":
            return sent
        before = self.before()
        return {name: value - before[name] for name, value in sent.items()}


@dataclass(frozen=True, kw_only=True)
class Capture:
    """Updates of a federation, in the order of their rounds."""

    folder: Path
    entries: tuple[Entry, ...]
    framework: Framework | None = None

    @property
    def clients(self) -> tuple[str, ...]:
        """Their hashed names, in the order in which they first sent something."""
        return tuple(dict.fromkeys(entry.client for entry in self.entries))

    def of_client(self, client: str) -> tuple[Entry, ...]:
        """The updates of one client."""
        return tuple(entry for entry in self.entries if entry.client == client)


def read(folder: str | Path) -> Capture:
    """A capture that :func:`write` or ``seepage capture make`` wrote; a mistake is one sentence."""
    place = user_path(folder)
    index = read_index(place)
    if index is None:
        raise InputError(f"{place} holds no capture: there is no {INDEX} in it (seepage capture make writes one).")
    entries = sorted(index.entries, key=lambda entry: entry.round)
    own = tuple(Entry(stored=each, tensors=partial(_tensors, place)) for each in entries)
    return Capture(folder=place, entries=own, framework=index.framework)


def _tensors(folder: Path, name: str) -> Tensors:
    file = folder / TENSORS / f"{name}.safetensors"
    found = read_tensors(file)
    if digest(file.read_bytes()) != name:
        raise InputError(f"{file} is damaged, or was changed after it was captured.")
    return found


def read_index(folder: Path) -> Index | None:
    """What ``capture.json`` says; None if there is none."""
    file = folder / INDEX
    try:
        size = file.stat().st_size
        if size > LARGEST:
            raise InputError(f"{file} has {size:,} bytes; at most {LARGEST:,} are read.")
        content = file.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror}.") from None
    document = unsealed(content)
    if document is None:
        raise InputError(f"{file} is damaged, or was changed by hand; make the capture again.")
    try:
        index = Index.model_validate_json(document)
        for entry in index.entries:
            entry.facts.check(entry.kind)
    except ValidationError as error:
        first = error.errors()[0]
        if first["loc"] == ("schema_version",):
            raise InputError(f"{file} is of another version of captures; this Seepage reads {VERSION}.") from None
        place = ".".join(map(str, first["loc"]))
        raise InputError(f"{file} is not what Seepage writes ({place}: {first['msg']}).") from None
    _check_names(index, file)
    return index


def _check_names(index: Index, file: Path) -> None:
    seen = set()
    for entry in index.entries:
        if not is_pseudonym(entry.client):
            raise InputError(f"{file} holds a client's name that is not hashed; make the capture again.")
        if (entry.round, entry.client) in seen:
            raise InputError(f"{file} holds two updates of {entry.client} in round {entry.round}.")
        seen.add((entry.round, entry.client))
    if not index.entries:
        raise InputError(f"{file} holds no update.")


def points_back(entries: tuple[Entry, ...]) -> list[int]:
    """Rounds in which clients began with different weights and ended with the same: `before` and `after` swapped.

    A server sends every client of a round one model. Only digests are compared.
    """
    found = []
    for number in dict.fromkeys(entry.round for entry in entries):
        own = [entry.stored for entry in entries if entry.round == number and entry.kind == "after"]
        ends = {entry.sent for entry in own}
        if len(own) > 1 and len(ends) == 1 and len({entry.before for entry in own}) > 1:
            found.append(number)
    return found


def same_shapes(before: Tensors, sent: Tensors, kind: Kind) -> None:
    """Stop with a sentence at an update that does not belong to the weights that were sent out."""
    what = {"gradient": "The gradient", "after": "What the client sent", "change": "The change"}[kind]
    extra = [name for name in sent if name not in before]
    if extra:
        raise InputError(f"{what} has a tensor {extra[0]!r} that the weights before do not have.")
    optional = ("running_mean", "running_var", COUNTER) if kind == "gradient" else ()  # buffers have no gradient
    absent = [name for name in before if name not in sent and not name.endswith(optional or ("\0",))]
    if absent:
        raise InputError(f"{what} has no tensor {absent[0]!r}, which the weights before have.")
    for name, value in sent.items():
        if value.shape != before[name].shape:
            raise InputError(
                f"{what}: {name!r} has the shape {value.shape}, in the weights before it has {before[name].shape}."
            )
        if value.dtype != before[name].dtype:
            raise InputError(f"{what}: {name!r} is {value.dtype}, in the weights before it is {before[name].dtype}.")
    floats = [name for name, value in sent.items() if value.dtype.kind == "f"]
    if kind == "after" and all(np.array_equal(sent[name], before[name]) for name in floats):
        raise InputError("The weights before and after are equal, so there is no update to attack.")
    if kind != "after" and not any(sent[name].any() for name in floats):
        raise InputError(f"{what} is zero everywhere, so there is nothing to attack.")
