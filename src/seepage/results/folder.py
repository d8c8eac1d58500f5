"""What a run folder is to its owner and to others, and the list of what its files must be."""

from __future__ import annotations

import os
from pathlib import Path

from seepage._core import InputError
from seepage._core.files import digest


def noted_digests(noted: Path) -> dict[str, str]:
    """What stored files must be, by their names; the last line about a file holds."""
    if not noted.exists():
        return {}
    lines = [line.split() for line in noted.read_text(encoding="utf-8", errors="replace").splitlines()]
    return dict(line for line in lines if len(line) == 2)


def found_digests(path: Path, folder: str) -> dict[str, str]:
    """What the files below a folder of a run are."""
    files = sorted(file for file in (path / folder).rglob("*") if file.is_file())
    return {file.relative_to(path).as_posix(): digest(file.read_bytes()) for file in files}


def close_to_others(path: Path) -> None:
    """A run folder is its owner's alone, even where the owner made it for everybody."""
    found = path.stat()
    if hasattr(os, "geteuid") and found.st_uid != os.geteuid():
        raise InputError(f"The output folder {path} belongs to another user; choose another --out.")
    if found.st_mode & 0o077:
        path.chmod(0o700)


def holds_others(path: Path) -> bool:
    """Whether a folder holds more than the beginning of a run that was stopped before its first file was there."""
    return any(
        not (entry.name == "records" and entry.is_dir() and not any(entry.iterdir()))
        and not (entry.name.startswith(".run.json.") and entry.name.endswith(".tmp"))
        for entry in path.iterdir()
    )
