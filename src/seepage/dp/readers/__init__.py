"""Readers of what people configure: files are data, and are never run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from seepage._core import InputError
from seepage.data.toml_files import document_of, read_text
from seepage.dp.readers.nvflare_json import read_json
from seepage.dp.readers.python_source import read_python
from seepage.dp.readers.toml_text import flower_config, flower_facts, read_dp
from seepage.dp.said import Source

KINDS = (".py", ".json", ".toml")
LARGEST = 4_000_000  # bytes of a file; source that people write is far below
_OTHERS = {
    ".conf": "NVFlare's HOCON is not understood; give the JSON of the exported job",
    ".yaml": "YAML is not understood; say the same in a [dp] section of a TOML file",
    ".yml": "YAML is not understood; say the same in a [dp] section of a TOML file",
    ".ipynb": "notebooks are not understood; export it as a Python file",
}


def read_files(paths: Sequence[Path]) -> list[Source]:
    """What all these files say of privacy; they are one federation's.

    Args:
        paths: Python source, NVFlare's JSON, TOML with a section ``[dp]``, or Flower's ``pyproject.toml``.
    """
    texts = {path: _text(path) for path in paths}
    documents = {path: document_of(text, str(path)) for path, text in texts.items() if path.suffix == ".toml"}
    config = _config(documents)
    return [_read(path, text, documents.get(path, {}), config) for path, text in texts.items()]


def _text(path: Path) -> str:
    if path.suffix not in KINDS:
        other = _OTHERS.get(path.suffix)
        why = f"{other}." if other else f"files that are read end in {', '.join(KINDS)}."
        raise InputError(f"{path} cannot be checked: {why}")
    if path.is_file() and path.stat().st_size > LARGEST:
        raise InputError(f"{path} is larger than {LARGEST:,} bytes; it is not read.")
    return read_text(path, "configuration")


def _config(documents: dict[Path, dict[str, Any]]) -> dict[str, object]:
    """Flower's settings of all project files: there should be one."""
    found: dict[str, object] = {}
    for path, document in documents.items():
        for name, value in (flower_config(document) or {}).items():
            if name in found and found[name] != value:
                raise InputError(
                    f"The setting {name!r} has two values in the project files, the second in {path.name}."
                )
            found[name] = value
    return found


def _read(path: Path, text: str, document: dict[str, Any], config: dict[str, object]) -> Source:
    if path.suffix == ".py":
        return read_python(text, path.name, config)
    if path.suffix == ".json":
        return read_json(text, path.name)
    if "dp" in document:
        return read_dp(document["dp"], path.name)
    own = flower_config(document)
    if own is None:
        raise InputError(f"{path} has neither a section [dp] nor Flower's [tool.flwr.app.config].")
    return Source(file=path.name, facts=flower_facts(own, path.name))
