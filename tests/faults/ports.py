"""Which ports are open while Seepage works: of the process and all it started, as the kernel lists them.

The list: `serve` and a guest of `party` open one port, Dask one for its scheduler and two for each worker (the worker,
and who starts it again), all on 127.0.0.1. Nothing else opens any.
"""

from __future__ import annotations

import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from tests.faults.tally import Tally
from tests.runs.test_every_study import planned

_LISTEN, _UNBOUND = "0A", "07"  # as the kernel writes the states of sockets that anyone can send to
_ACCEPTS = 0x10000  # of a socket in a file
LOOPBACK = ("127.0.0.1", "::ffff:127.0.0.1")  # the second is the first, as gRPC writes it
LOOK = 0.1  # seconds between two looks
SECONDS = 300.0  # for one command


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
    """Process, address and port of every socket of the tree that others can send to; port 0 for one in a file."""
    found = []
    for pid in processes(root):
        own = _open_files(pid)
        with suppress(OSError):  # the process has just ended
            for name, state in (("tcp", _LISTEN), ("tcp6", _LISTEN), ("udp", _UNBOUND), ("udp6", _UNBOUND)):
                for parts in _lines(pid, name):
                    if parts[3] == state and f"socket:[{parts[9]}]" in own:
                        found.append((pid, *_address(parts[1])))
            for parts in _lines(pid, "unix"):
                if int(parts[3], 16) & _ACCEPTS and f"socket:[{parts[6]}]" in own:
                    found.append((pid, parts[7] if len(parts) > 7 else "unnamed", 0))
    return found


def _lines(pid: int, name: str) -> list[list[str]]:
    return [line.split() for line in Path(f"/proc/{pid}/net/{name}").read_text().splitlines()[1:]]


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


def watched(words: list[str], folder: Path, *, ports: int = 0, ends: bool = True) -> str:
    """Run a command, and look at its ports until it ends; what was wrong, empty if nothing.

    Args:
        ports: how many it opens when all are open.
        ends: whether it ends by itself; else it is stopped once its ports are open.
    """
    most, began = 0, time.monotonic()
    with subprocess.Popen(
        [sys.executable, "-m", "seepage", *words],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as command:
        try:
            while command.poll() is None:
                found = listening(command.pid)
                if others := [each for each in found if each[1] not in LOOPBACK]:
                    return f"open to others than this machine: {others}"
                most = max(most, len(found))
                if time.monotonic() - began > SECONDS:
                    return f"no end within {SECONDS:.0f} s"
                if not ends and most == ports:
                    break
                time.sleep(LOOK)
            if ends and command.returncode:
                told = command.stderr.read().decode()[-300:] if command.stderr else ""
                return f"ended with {command.returncode}: {told}"
        finally:
            with suppress(ProcessLookupError):
                os.killpg(command.pid, signal.SIGKILL)
    return "" if most == ports else f"{most} ports, not {ports}"


def commands(folder: Path) -> dict[str, tuple[list[str], int, bool]]:
    """What is watched: the command, how many ports it opens, and whether it ends by itself."""
    for study in ("rows", "property"):
        (folder / study).mkdir()
        planned(study, folder / study)
    said = 'name = "lab"\nhost = "bank"\nlisten = "127.0.0.1:0"\ntable = "rows/table.csv"\nplain = true\n'
    (folder / "guest.toml").write_text(f'{said}folder = "guest"\n')
    table = ["--data", "rows/table.csv", "--target", "target", "--batch-size", "2", "--trials", "2", "--exposure", "0"]
    rows, own = ["audit", "--plan", "rows/plan.toml"], ["audit", "property", "--plan", "property/plan.toml"]
    return {
        "audit": (["audit", *table, "--model", "linear", "--clients", "2", "--out", "runs/audit"], 0, True),
        "plan": ([*rows, "--jobs", "2", "--out", "runs/plan"], 0, True),
        "dask": ([*rows, "--jobs", "1", "--backend", "dask", "--out", "runs/dask"], 3, True),
        "property": ([*own, "--jobs", "1", "--out", "runs/property"], 0, True),
        "serve": (["serve", "runs"], 1, False),
        "guest": (["party", "guest", "--config", "guest.toml"], 1, False),
    }


def watch(names: Sequence[str], tally: Tally) -> None:
    """Watch these commands."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (folder / "runs").mkdir()
        every = commands(folder)
        for name in names:
            words, ports, ends = every[name]
            tally.tried += 1
            if wrong := watched(words, folder, ports=ports, ends=ends):
                tally.bad("hangs" if wrong.startswith("no end") else "different", f"{name}: {wrong}")


def campaign(share: float) -> list[Tally]:
    """Every command once; there is nothing to do a share of."""
    tally = Tally("commands whose open ports were watched")
    watch(("audit", "plan", "dask", "property", "serve", "guest"), tally)
    return [tally]
