"""Which ports are open while Seepage works: of the process and all it started, as the kernel lists them."""

from __future__ import annotations

import os
import socket
import struct
from contextlib import suppress
from pathlib import Path

_LISTEN = "0A"  # as the kernel writes the state of a socket that waits for others


def processes(root: int | None = None) -> list[int]:
    """A process and all that it started, whoever started them in between."""
    root = root or os.getpid()
    parents: dict[int, int] = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            after = status.read_text().rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
        parents[int(status.parent.name)] = int(after[1])
    tree, more = [root], True
    while more:
        new = [pid for pid, parent in parents.items() if parent in tree and pid not in tree]
        tree, more = tree + new, bool(new)
    return tree


def listening(root: int | None = None) -> list[tuple[int, str, int]]:
    """Process, address and port of every socket of the tree that others can connect to; port 0 for one in a file."""
    found = []
    for pid in processes(root):
        own = _open_files(pid)
        for name in ("tcp", "tcp6"):
            for line in Path(f"/proc/{pid}/net/{name}").read_text().splitlines()[1:]:
                parts = line.split()
                if parts[3] == _LISTEN and f"socket:[{parts[9]}]" in own:
                    found.append((pid, *_address(parts[1])))
    return found


def _open_files(pid: int) -> set[str]:
    found = set()
    with suppress(OSError):  # the process has just ended
        for entry in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):  # the one that lists this folder
                found.add(str(entry.readlink()))
    return found


def _address(text: str) -> tuple[str, int]:
    """`0100007F:1F90` is 127.0.0.1, port 8080."""
    host, port = text.split(":")
    words = [struct.pack("=I", int(host[place : place + 8], 16)) for place in range(0, len(host), 8)]
    family = socket.AF_INET if len(words) == 1 else socket.AF_INET6
    return socket.inet_ntop(family, b"".join(words)), int(port, 16)
