"""A federation's state on disk: one folder for each party, nobody's weights in another's."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors.torch import load_file, save
from torch import Tensor

from seepage._core import InputError
from seepage._core.files import write_atomically

PROGRESS = "progress.json"


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """Where a training run saves itself after every epoch.

    A state counts once ``progress.json`` names it, and that file is replaced in one step: a kill at any byte leaves the
    state before or the state after.

    Args:
        folder: of the run.
        fingerprint: of everything that changes the result; a state of other settings is not continued.
    """

    folder: Path
    fingerprint: str

    def save(self, number: int, parties: dict[str, dict[str, Tensor]], facts: dict[str, Any]) -> None:
        """Write all parties, then make this state the current one, then remove the one before."""
        for name, tensors in parties.items():
            write_atomically(self.folder / name / f"{number}.safetensors", save(tensors))
        write_json(self.folder / PROGRESS, {"state": number, "fingerprint": self.fingerprint, **facts})
        for name in parties:
            for old in (self.folder / name).glob("*.safetensors"):
                if old.stem != str(number):
                    old.unlink()

    def load(self, parties: list[str]) -> tuple[dict[str, dict[str, Tensor]], dict[str, Any]] | None:
        """The current state, or None if there is none yet."""
        path = self.folder / PROGRESS
        if not path.exists():
            return None
        facts: dict[str, Any] = json.loads(path.read_text())
        if facts["fingerprint"] != self.fingerprint:
            raise InputError(
                f"{self.folder} holds a run with other settings or data; continue it with the same ones, or choose "
                "another folder."
            )
        files = {name: self.folder / name / f"{facts['state']}.safetensors" for name in parties}
        for name, file in files.items():
            if not file.exists():
                raise InputError(f"{self.folder} holds no state of party {name!r}; it cannot be continued.")
        return {name: load_file(file) for name, file in files.items()}, facts


def write_json(path: Path, facts: dict[str, Any]) -> None:
    """Replace a JSON file in one step."""
    write_atomically(path, json.dumps(facts, indent=1))
