"""The ground floor: errors, named random streams, outcomes. Knows nothing about learning."""

from seepage._core.errors import DiskFull, InputError, SeepageError, nearest, unknown_name
from seepage._core.outcome import Outcome
from seepage._core.progress import Progress, silent
from seepage._core.streams import Streams

__all__ = [
    "DiskFull",
    "InputError",
    "Outcome",
    "Progress",
    "SeepageError",
    "Streams",
    "nearest",
    "silent",
    "unknown_name",
]
