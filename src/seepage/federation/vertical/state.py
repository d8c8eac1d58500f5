"""A federation's state on disk while it trains: one folder for each party, nobody's weights in another's."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from seepage._core import InputError
from seepage._core.files import digest, move, remove, sealed, unsealed, write_atomically
from seepage._core.names import HOST
from seepage.federation.vertical.host import Host
from seepage.federation.vertical.messages import Stamp
from seepage.federation.vertical.party import Learning

PROGRESS = "progress.json"


class States(Protocol):
    """Where the states of all parties go after an epoch, each to its own place."""

    def save(self, number: int, stamp: Stamp, host: Host, facts: dict[str, Any]) -> None:
        """Save every party after so many epochs, and the host's last: its state says which one counts."""
        ...

    def load(self, host: Host) -> dict[str, Any] | None:
        """Bring every party back to the state that counts; what was noted with it, or None if there is none."""
        ...

    def wait(self, guests: Sequence[str]) -> None:
        """Wait, never for ever, until these guests answer again."""
        ...


class DamagedState(Exception):
    """A saved state is not what was written."""


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """Where a training run saves itself after every epoch.

    A state counts once ``progress.json`` names it, and that file is replaced in one step: a kill at any byte leaves the
    state before or the state after. It names its files with digests; one that is damaged is set aside, and the
    training begins anew.

    Args:
        folder: of the run.
        fingerprint: of everything that changes the result; a state of other settings is not continued.
    """

    folder: Path
    fingerprint: str

    def save(self, number: int, parties: dict[str, dict[str, Tensor]], facts: dict[str, Any]) -> None:
        """Write all parties, then make this state the current one, then remove the one before."""
        digests = {}
        for name, tensors in parties.items():
            content = save(tensors)
            digests[name] = digest(content)
            write_atomically(self.folder / name / f"{number}.safetensors", content)
        document = {"state": number, "fingerprint": self.fingerprint, "digests": digests, **facts}
        write_atomically(self.folder / PROGRESS, sealed(json.dumps(document, indent=1)))
        for name in parties:
            for old in (self.folder / name).glob("*.safetensors"):
                if old.stem != str(number):
                    remove(old)

    def load(self, parties: list[str]) -> tuple[dict[str, dict[str, Tensor]], dict[str, Any]] | None:
        """The current state, or None if there is none yet, or none that is whole."""
        if not (self.folder / PROGRESS).exists():
            return None
        try:
            return self._load(parties)
        except DamagedState as error:
            warnings.warn(f"{error} was damaged, so this training begins anew", stacklevel=2)
            return None

    def _load(self, parties: list[str]) -> tuple[dict[str, dict[str, Tensor]], dict[str, Any]]:
        path = self.folder / PROGRESS
        content = unsealed(path.read_bytes())
        if content is None:
            raise self._set_aside(path)
        facts: dict[str, Any] = json.loads(content)
        if facts["fingerprint"] != self.fingerprint:
            raise InputError(
                f"{self.folder} holds a run with other settings or data; continue it with the same ones, or choose "
                "another folder."
            )
        found = {}
        for name in parties:
            file = self.folder / name / f"{facts['state']}.safetensors"
            state = file.read_bytes() if file.is_file() else b""
            if digest(state) != facts["digests"].get(name):
                raise self._set_aside(file)
            try:
                found[name] = load(state)
            except SafetensorError:
                raise self._set_aside(file) from None
        return found, facts

    def _set_aside(self, file: Path) -> DamagedState:
        """Keep what is damaged where nobody reads it; without ``progress.json`` no state counts."""
        if file.exists():
            move(file, self.folder / "damaged" / f"{file.parent.name}-{file.name}")
        remove(self.folder / PROGRESS)
        return DamagedState(file.name)


class Together:
    """All parties in one process and one run folder.

    Args:
        checkpoint: of the run.
        guests: what each guest has learned, by its name.
    """

    def __init__(self, checkpoint: Checkpoint, guests: Mapping[str, Learning]) -> None:
        self._checkpoint, self._guests = checkpoint, guests

    def save(self, number: int, stamp: Stamp, host: Host, facts: dict[str, Any]) -> None:
        parties = {name: learning.state() for name, learning in self._guests.items()}
        self._checkpoint.save(number, parties | {HOST: host.state()}, facts)

    def load(self, host: Host) -> dict[str, Any] | None:
        found = self._checkpoint.load([*self._guests, HOST])
        if found is None:
            return None
        parties, facts = found
        for name, learning in self._guests.items():
            learning.restore(parties[name])
        host.restore(parties[HOST])
        return facts

    def wait(self, guests: Sequence[str]) -> None:
        """In one process nobody comes back later."""
