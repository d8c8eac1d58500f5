"""A trained model on disk: one folder for each party, nobody's weights in another's, each with its digests."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load
from torch import Tensor, nn

from seepage._core import InputError
from seepage._core.files import digest, sealed, unsealed, write_atomically

MANIFEST = "party.json"


def write_party(folder: Path, files: Mapping[str, str | bytes]) -> None:
    """Write a party's files, and last what they must be."""
    digests = {}
    for name, content in files.items():
        write_atomically(folder / name, content)
        digests[name] = digest(content.encode() if isinstance(content, str) else content)
    write_atomically(folder / MANIFEST, sealed(json.dumps({"files": digests}, indent=1)))


def read_party(folder: Path) -> dict[str, bytes]:
    """A party's files; one sentence if one of them is missing or is not what was written."""
    try:
        manifest = unsealed((folder / MANIFEST).read_bytes())
        names = json.loads(manifest)["files"] if manifest else None
        if not isinstance(names, dict) or any(Path(name).name != name for name in names):
            raise InputError(f"{folder / MANIFEST} is damaged; train the model again.")
        files = {name: (folder / name).read_bytes() for name in names}
    except OSError as error:
        name = Path(str(error.filename or folder)).name
        raise InputError(f"{folder} holds no whole party of a saved model: {name}: {error.strerror}.") from None
    except (ValueError, KeyError, TypeError, RecursionError):  # sealed by somebody, and still no manifest
        raise InputError(f"{folder / MANIFEST} is damaged; train the model again.") from None
    for name, known in names.items():
        if digest(files[name]) != known:
            raise InputError(f"{folder / name} is damaged, or was changed after it was written; train the model again.")
    return files


def saved_whole(folder: Path) -> bool:
    """Whether a folder holds a saved model with nothing missing or damaged."""
    try:
        facts = json.loads(read_party(folder / "host")["model.json"])
        for name in facts["guests"]:
            read_party(folder / name)
    except (InputError, ValueError, KeyError, TypeError):
        return False
    return True


def set_weights(modules: nn.Module, content: bytes, where: Path) -> None:
    """Give a party's modules the weights that were saved."""
    try:
        modules.load_state_dict(load(content))
    except (SafetensorError, RuntimeError, ValueError) as error:  # other tensors, or of other shapes
        reason = str(error).splitlines()[0]
        raise InputError(f"{where} does not hold this party's weights ({reason}).") from None


def plain(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """A state as it can be saved."""
    return {name: value.detach().clone().contiguous() for name, value in state.items()}


def facts_of(content: bytes, where: Path, names: tuple[str, ...]) -> dict[str, Any]:
    """A JSON object with these names."""
    try:
        facts = json.loads(content)
    except (ValueError, RecursionError):
        facts = None
    if not isinstance(facts, dict) or any(name not in facts for name in names):
        raise InputError(f"{where} is not what Seepage writes: {', '.join(names)} are expected in it.")
    return facts
