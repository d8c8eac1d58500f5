"""What a run folder is to its owner and to others, and the list of what its files must be."""

from __future__ import annotations

import json
import os
from pathlib import Path

from pydantic import JsonValue

from seepage._core import InputError
from seepage._core.files import digest, unsealed

HEADS = ("run.json", "outline.json")  # the second holds a copy of the first
SEALED_SINCE = 4  # the version of stores whose files say themselves what they must be


def noted_digests(noted: Path) -> dict[str, str]:
    """What stored files must be, by their names; the last line about a file holds."""
    if not noted.exists():
        return {}
    lines = [line.split() for line in noted.read_text(encoding="utf-8", errors="replace").splitlines()]
    return dict(line for line in lines if len(line) == 2)


def is_run(path: Path) -> bool:
    """Whether a folder is a run's; one of the two files that say what it is may be gone."""
    return any((path / name).exists() for name in HEADS)


def read_head(path: Path) -> tuple[dict[str, JsonValue], bool]:
    """What a run began with, and whether run.json says so; else it is the copy in outline.json that does."""
    problem = f"{path / HEADS[0]} is missing"
    for name in HEADS:
        if not (path / name).exists():
            continue
        content = (path / name).read_bytes()
        try:
            found = json.loads(unsealed(content) or content)
        except (ValueError, RecursionError) as error:  # not JSON, or not even text
            problem = problem if name != HEADS[0] else f"{path / name} is not valid JSON: {error}"
            continue
        head = found if name == HEADS[0] else (isinstance(found, dict) and found.get("begun")) or None
        if not isinstance(head, dict) or (name == HEADS[0] and "begun" in head):
            problem = problem if name != HEADS[0] else f"{path / name} does not hold what a run begins with"
        elif unsealed(content) is None and ("seal" in found or _is_sealed(head)):
            problem = f"{path / name} is damaged, or was changed after it was written"
        else:
            return head, name == HEADS[0]
    raise InputError(f"{problem}. Repeat the run with another --out.")


def _is_sealed(head: dict[str, JsonValue]) -> bool:
    """Whether a run is of a version that seals its files."""
    version = head.get("store_version")
    return isinstance(version, int) and version >= SEALED_SINCE


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
