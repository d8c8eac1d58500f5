"""Writes a capture: tensors first, each under its digest, and last what they are."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock
from pydantic import ValidationError
from safetensors.numpy import save

from seepage._core import InputError
from seepage._core.errors import shown
from seepage._core.files import (
    PRIVATE,
    digest,
    make_folders,
    remove_leftovers,
    sealed,
    told_if_not_written,
    write_atomically,
)
from seepage._core.paths import user_path
from seepage._core.validation import sentence
from seepage.captures.clients import pseudonym
from seepage.captures.facts import MOST_ROWS, CaptureFacts
from seepage.captures.reading import (
    INDEX,
    TENSORS,
    Capture,
    Entry,
    Framework,
    Index,
    Kind,
    StoredEntry,
    points_back,
    read,
    read_index,
    same_shapes,
)
from seepage.captures.tensors import Tensors, as_arrays, read_tensors

LOCK = ".lock"
State = Mapping[str, Any] | str | Path  # a state dict, or a safetensors or npz file


def write(
    folder: str | Path,
    *,
    before: State,
    after: State | None = None,
    gradient: State | None = None,
    change: State | None = None,
    client: str | None = None,
    round: int = 1,
    add: bool = False,
    **facts: Any,
) -> Capture:
    """Write one update of one client into a capture.

    Args:
        folder: of the capture; it is made, for its owner only.
        before: the weights that the client was sent: a state dict (torch or numpy), a safetensors or an npz file.
        after: the weights it sent back; or instead
        gradient: the gradient of one batch at ``before``; or instead
        change: the weights it sent back minus ``before``.
        client: its name, which is hashed (:func:`pseudonym`), or such a hash; may be left out in a capture of one
            client. Where several processes write updates of one client, hash its name with a salt of your own.
        round: the number of the round.
        add: add to a capture that is there. An update that is there is never replaced.
        facts: of the protocol, see :class:`CaptureFacts`: ``rows`` at least; ``batch_size``, ``local_epochs``,
            ``learning_rate`` and the optimiser where the client trained by itself.

    Example:
        >>> import tempfile
        >>> import numpy as np
        >>> weights = {"weight": np.zeros((1, 2), "float32")}
        >>> slope = {"weight": np.ones((1, 2), "float32")}
        >>> with tempfile.TemporaryDirectory() as place:
        ...     capture = write(f"{place}/first", before=weights, gradient=slope, rows=8)
        >>> capture.entries[0].protocol, capture.entries[0].facts.rows
        ('fedsgd', 8)
    """
    place = user_path(folder)
    kind, returned = _returned(after, gradient, change)
    state, sent = _loaded(before, "The weights before"), _loaded(returned, "What the client sent")
    update = made(round=round, client=client, kind=kind, before=state, sent=sent, facts=facts)
    append(place, [update], add=add)
    capture = read(place)
    _warn_if_swapped(capture, round)
    return capture


@dataclass(frozen=True, kw_only=True)
class Update:
    """One update of one client, checked; :func:`made` makes it.

    Args:
        client: its hashed name; None for the only client of a capture.
    """

    round: int
    client: str | None
    kind: Kind
    facts: CaptureFacts
    before: Tensors
    sent: Tensors


def made(
    *, round: int, client: str | None, kind: Kind, before: Tensors, sent: Tensors, facts: Mapping[str, Any]
) -> Update:
    """An update of which everything fits together; a mistake is one sentence."""
    known = _facts(facts, kind)
    if type(round) is not int or not 0 <= round <= MOST_ROWS:
        raise InputError(f"The round is {shown(round)}; it must be a whole number, 0 or above.")
    same_shapes(before, sent, kind)
    name = None if client is None else pseudonym(client)
    return Update(round=round, client=name, kind=kind, facts=known, before=before, sent=sent)


def append(place: Path, updates: Sequence[Update], *, add: bool = True, framework: Framework | None = None) -> None:
    """Write updates into a capture: their tensors first and the index once, last.

    An update that is there is never replaced: then nothing is written.
    """
    with _opened(place, add=add) as index:
        entries = list(index.entries)
        names: dict[int, str] = {}
        taken = {(each.round, each.client) for each in entries}
        for update in updates:
            who = update.client or _only_client(entries, place)
            if (update.round, who) in taken:
                raise InputError(f"{place} holds round {update.round} of {who} already; nothing was written.")
            taken.add((update.round, who))
            for tensors in (update.before, update.sent):  # clients of a round share what they were sent
                names[id(tensors)] = names.get(id(tensors)) or _put(place, tensors)
            files = {"before": names[id(update.before)], "sent": names[id(update.sent)]}
            entries.append(StoredEntry(round=update.round, client=who, kind=update.kind, facts=update.facts, **files))
        found = Index(entries=tuple(entries), framework=framework or index.framework)
        write_atomically(place / INDEX, sealed(found.model_dump_json(indent=1)))


@contextmanager
def _opened(place: Path, *, add: bool) -> Iterator[Index]:
    """What a capture holds, while nobody else adds to it; a new one is begun."""
    if read_index(place) is None and place.exists() and not _is_empty(place):
        raise InputError(f"{place} exists and is no capture; choose another name.")
    with told_if_not_written(place):
        make_folders(place)
    with FileLock(place / LOCK, mode=PRIVATE):
        remove_leftovers(place)
        index = read_index(place)
        if index is not None and not add:
            raise InputError(f"{place} is a capture already; add to it (--add, add=True) or choose another name.")
        yield index if index is not None else Index()


def _is_empty(place: Path) -> bool:
    """Whether a folder holds nothing, or what a capture that was stopped at its beginning leaves."""
    return place.is_dir() and all(each.name == TENSORS or each.name.startswith(".") for each in place.iterdir())


def _returned(after: State | None, gradient: State | None, change: State | None) -> tuple[Kind, State]:
    given: list[tuple[Kind, State | None]] = [("after", after), ("gradient", gradient), ("change", change)]
    found = [(kind, state) for kind, state in given if state is not None]
    if len(found) != 1:
        raise InputError(
            "What did the client send? Say one of: the weights after its training (after), a gradient (gradient), or "
            "the change of the weights (change)."
        )
    kind, state = found[0]
    assert state is not None
    return kind, state


def _facts(facts: Mapping[str, Any], kind: Kind) -> CaptureFacts:
    if "rows" not in facts or facts["rows"] is None:
        raise InputError("How many rows are behind the update? Say it with rows (--rows).")
    try:
        known = CaptureFacts(**facts)
    except ValidationError as error:
        raise InputError(sentence(error)) from None
    if kind == "gradient" and known.batch_size is None:
        known = known.model_copy(update={"batch_size": known.rows})
    known.check(kind)
    return known


def _loaded(state: State, where: str) -> Tensors:
    return read_tensors(state) if isinstance(state, str | Path) else as_arrays(state, where)


def _only_client(entries: Sequence[StoredEntry], place: Path) -> str:
    """Whose an update is that nobody is named for."""
    clients = list(dict.fromkeys(entry.client for entry in entries))
    if len(clients) > 1:
        raise InputError(f"{place} holds updates of {len(clients)} clients; say whose this is (--client, client=).")
    return clients[0] if clients else pseudonym("client")


def _put(place: Path, tensors: Tensors) -> str:
    """Write tensors under their digest; those of a round that all clients were sent are there once."""
    content = save(tensors)
    name = digest(content)
    file = place / TENSORS / f"{name}.safetensors"
    if not file.exists():
        write_atomically(file, content)
    return name


def _warn_if_swapped(capture: Capture, number: int) -> None:
    own: tuple[Entry, ...] = tuple(entry for entry in capture.entries if entry.round == number)
    if points_back(own):
        warnings.warn(
            f"In round {number} the clients begin with different weights and end with the same: before and after look "
            "swapped.",
            stacklevel=3,
        )
