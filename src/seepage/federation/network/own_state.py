"""One party's own states of one run, in its own folder; nobody else reads or writes there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from seepage._core.files import digest, remove, sealed, unsealed, write_atomically
from seepage.federation.vertical.guest import Guest
from seepage.federation.vertical.messages import Instruction, Kind, Message, Stamp

INDEX = "states.json"
LATEST = "latest"
KEPT = 3  # the latest, and two of epochs: a host that is killed while guests save goes back by one
_FACTS = "facts"  # JSON beside the tensors, so that a state is one file, whole or not there
_CONTROL = {Instruction.BEGIN, Instruction.REMEMBER, Instruction.RECALL}


class OwnStates:
    """States by name, each whole or not there. The newest few are kept.

    Args:
        folder: of this party and run.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @property
    def names(self) -> list[str]:
        """What can be gone back to, the newest last."""
        return [name for name in self._index() if self._content(name) is not None]

    def save(self, name: str, tensors: dict[str, Tensor], facts: dict[str, Any] | None = None) -> None:
        """Keep a state under a name; one of that name is replaced."""
        noted = np.frombuffer(json.dumps(facts or {}).encode(), dtype=np.uint8).copy()
        content = save(tensors | {_FACTS: torch.from_numpy(noted)})
        index = self._index()
        index.pop(name, None)
        index[name] = digest(content)
        write_atomically(self._file(name), content)
        kept = dict(list(index.items())[-KEPT:])
        write_atomically(self._folder / INDEX, sealed(json.dumps(kept, indent=1)))
        for old in index.keys() - kept.keys():
            remove(self._file(old))

    def load(self, name: str) -> tuple[dict[str, Tensor], dict[str, Any]] | None:
        """A state and what was noted with it, or None if it is not there or damaged."""
        content = self._content(name)
        if content is None:
            return None
        try:
            tensors = load(content)
            facts: dict[str, Any] = json.loads(tensors.pop(_FACTS).numpy().tobytes())
        except (SafetensorError, KeyError, ValueError):
            return None
        return tensors, facts

    def _index(self) -> dict[str, str]:
        try:
            content = unsealed((self._folder / INDEX).read_bytes())
        except OSError:
            return {}
        found: dict[str, Any] = json.loads(content) if content is not None else {}
        return {str(name): str(value) for name, value in found.items()}

    def _content(self, name: str) -> bytes | None:
        file = self._file(name)
        content = file.read_bytes() if file.is_file() else b""
        return content if content and digest(content) == self._index().get(name) else None

    def _file(self, name: str) -> Path:
        return self._folder / f"{name.replace(' ', '-')}.safetensors"


class KeptGuest:
    """A guest that saves itself when the host says so, and survives a kill in between.

    Args:
        guest: answers.
        states: of this guest and run.
    """

    def __init__(self, guest: Guest, states: OwnStates) -> None:
        self.guest, self._states = guest, states

    @property
    def width(self) -> int:
        """Encoded columns."""
        return self.guest.width

    def begin(self) -> None:
        """Keep the state that there is."""
        self._states.save(LATEST, self.guest.learning.state())

    def recover(self) -> bool:
        """Go on from the newest state that is whole; False if there is none."""
        for name in [LATEST, *reversed(self._states.names)]:
            found = self._states.load(name)
            if found is not None:
                self.guest.learning.restore(found[0])
                return True
        return False

    def respond(self, message: Message) -> Message:
        """Answer the host."""
        if message.task == Instruction.SAVE:
            state = self.guest.learning.state()
            self._states.save(named(message.stamp), state)
            self._states.save(LATEST, state)
            return message.answer()
        if message.task == Instruction.RESTORE:
            found = self._states.load(named(message.stamp))
            if found is not None:
                self.guest.learning.restore(found[0])
                self.begin()
            # One who was away when the others saved goes on with what it has.
            return message.answer({Kind.LOSS: torch.tensor([0.0 if found is None else 1.0])})
        answer = self.guest.respond(message)
        if message.task in _CONTROL:
            self.begin()
        return answer


def named(stamp: Stamp) -> str:
    """The name of the state at the end of an epoch."""
    return f"{stamp.phase.value} {stamp.epoch}"
