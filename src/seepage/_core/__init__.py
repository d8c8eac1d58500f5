"""The ground floor: errors, named random streams, outcomes. Knows nothing about learning."""

from seepage._core.errors import (
    DiskFull,
    InputError,
    NotApplicable,
    NotWritten,
    RunStopped,
    SeepageError,
    nearest,
    unknown_name,
)
from seepage._core.outcome import Outcome
from seepage._core.progress import Progress, silent, under
from seepage._core.streams import Streams

__all__ = [
    "DiskFull",
    "InputError",
    "NotApplicable",
    "NotWritten",
    "Outcome",
    "Progress",
    "RunStopped",
    "SeepageError",
    "Streams",
    "nearest",
    "silent",
    "under",
    "unknown_name",
]
