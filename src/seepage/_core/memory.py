"""Memory: the most that this process took, and how much there is, where the system tells it."""

from __future__ import annotations

import os
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


LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")  # of a container


def machine_memory() -> int | None:
    """Bytes that this machine, or the container that this runs in, has; None where that cannot be known."""
    found = []
    with suppress(ValueError, OSError, AttributeError):  # other systems have other names
        found.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    for file in LIMITS:
        with suppress(ValueError, OSError):  # "max": no limit
            found.append(int(Path(file).read_text()))
    return min(found, default=None)
