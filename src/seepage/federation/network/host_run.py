"""What the host notes of its training, so that it can go on."""

from __future__ import annotations

import json
import secrets
from pathlib import Path
from typing import Any

from seepage._core import InputError
from seepage._core.files import sealed, unsealed, write_atomically

RUN = "run.json"


def open_run(folder: Path, fingerprint: str) -> str:
    """The name of the training in this folder: that of an unfinished one with the same settings, or a new one."""
    known = read_run(folder)
    if known and known["fingerprint"] != fingerprint:
        raise InputError(
            f"{folder} holds a training with other settings or rows; go on with the same ones, or choose another "
            "folder."
        )
    if not known:
        known = {"run": secrets.token_hex(16), "fingerprint": fingerprint}
        write_run(folder, known)
    return str(known["run"])


def read_run(folder: Path) -> dict[str, Any]:
    """What is noted of the training in a folder; nothing if there is none."""
    file = folder / RUN
    if not file.is_file():
        return {}
    content = unsealed(file.read_bytes())
    if content is None:
        raise InputError(f"{file} is damaged; choose another folder.")
    found: dict[str, Any] = json.loads(content)
    return found


def write_run(folder: Path, facts: dict[str, Any]) -> None:
    """Note it."""
    write_atomically(folder / RUN, sealed(json.dumps(facts, indent=1)))
