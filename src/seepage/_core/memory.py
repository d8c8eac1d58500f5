"""The largest memory that this process took, where the system tells it."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path


def reset_peak_memory() -> None:
    """Begin to count anew: a worker runs one task after the other."""
    with suppress(OSError):  # only Linux can
        Path("/proc/self/clear_refs").write_text("5")


def peak_memory() -> int | None:
    """Bytes, since the count began; None where it cannot be known."""
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return None
    kilobytes = next((line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:")), None)
    return None if kilobytes is None else 1024 * int(kilobytes)
