"""How far the captures of a folder are: rounds, clients, and what is not known. No tensor is opened."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path

from seepage._core import InputError
from seepage.captures.reading import INDEX, TENSORS, Index, StoredEntry, read_index
from seepage.results.reading import odd_entry

FRAMEWORKS = {"flower": "Flower", "nvflare": "NVFlare"}


@dataclass(frozen=True, kw_only=True)
class CaptureState:
    """What is known of a folder that holds a capture.

    Args:
        problem: why it cannot be read, in a sentence; empty if it can.
        framework: what runs the federation, with its version; empty if nobody said.
        entries: the updates, in the order of their rounds.
        stored: bytes of all their tensors.
        changed: when an update was last added, in seconds.
    """

    name: str
    problem: str = ""
    framework: str = ""
    entries: tuple[StoredEntry, ...] = ()
    stored: int = 0
    changed: float = 0.0

    @property
    def rounds(self) -> tuple[int, ...]:
        """Their numbers, in order."""
        return tuple(dict.fromkeys(entry.round for entry in self.entries))

    @property
    def clients(self) -> tuple[str, ...]:
        """Their hashed names, in the order in which they first sent something."""
        return tuple(dict.fromkeys(entry.client for entry in self.entries))

    @property
    def last(self) -> str:
        """When an update was last added, to the second."""
        return f"{datetime.fromtimestamp(self.changed, UTC):%Y-%m-%d %H:%M:%S} UTC" if self.changed else ""

    @property
    def missing(self) -> tuple[str, ...]:
        """Facts that some update does not say and an attack on rows would need, in words."""
        names = dict.fromkeys(name for entry in self.entries for name in missing_of(entry))
        return tuple(name.replace("_", " ") for name in names)


def missing_of(entry: StoredEntry) -> list[str]:
    """Facts that a replay of an update would need, and that are not known."""
    return entry.facts.missing(entry.kind)


def captures_below(folder: Path) -> list[Path]:
    """The captures of a folder."""
    return [file.parent for file in folder.glob(f"*/{INDEX}")]


def capture_states(folder: Path) -> list[CaptureState]:
    """Every capture of a folder, the one that grew last first."""
    return sorted((capture_state(path) for path in captures_below(folder)), key=lambda each: each.changed, reverse=True)


def capture_state(path: Path) -> CaptureState:
    """How far a capture is. Its index is replaced in one step, so it is always whole, or not there."""
    try:
        if odd := odd_entry(path):
            told = f"The capture holds {odd}, which is neither a file nor a folder; it is not shown."
            return CaptureState(name=path.name, problem=told)
        found = (path / INDEX).stat()
        return _read(path, found.st_mtime_ns, found.st_ino)
    except InputError as error:
        return CaptureState(name=path.name, problem=str(error))
    except OSError as error:
        return CaptureState(name=path.name, problem=f"{path / INDEX} cannot be read: {error.strerror}.")


@lru_cache(maxsize=32)
def _read(path: Path, changed: int, node: int) -> CaptureState:
    """A capture as it was at a time: the page asks every two seconds, and it is read when it has changed."""
    index = read_index(path) or Index()
    entries = tuple(sorted(index.entries, key=lambda entry: entry.round))
    own = index.framework
    return CaptureState(
        name=path.name,
        framework=f"{FRAMEWORKS[own.name]} {own.version}" if own else "",
        entries=entries,
        stored=_stored(path, entries),
        changed=changed / 1e9,
    )


def _stored(path: Path, entries: Sequence[StoredEntry]) -> int:
    """Bytes of the tensors; those that clients were sent together are there once."""
    total = 0
    for name in {name for entry in entries for name in (entry.before, entry.sent)}:
        try:
            total += (path / TENSORS / f"{name}.safetensors").stat().st_size
        except FileNotFoundError:  # told when it is audited
            continue
    return total
