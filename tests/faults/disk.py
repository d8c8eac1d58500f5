"""A disk that fails when it is told to, and one that forgets what was not synced when the power goes."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from seepage._core import files
from seepage._core.files import Disk

FAULTS = {
    "an I/O error or a full disk, in turn": "error",
    "a short write": "short",
    "a crash after it": "after",  # which is a crash before the next one
    "a power cut, and what was not synced is gone": "power",
    "a power cut, and names are there without content": "names",
}


class Crash(BaseException):
    """The process is gone."""


@dataclass(eq=False)
class Node:
    """A file or folder as the disk has it: what was synced is certain, the rest may be gone."""

    folder: bool = False
    synced: bytes = b""  # a file's content
    names: dict[str, Node] = field(default_factory=dict)  # a folder's
    certain: dict[str, Node] = field(default_factory=dict)


class FaultyDisk(Disk):
    """Counts the calls that change the disk, and fails at one of them.

    For power cuts it keeps what a disk must keep: a file's content as of its last sync, a folder's names as of its
    last sync. All else may be gone.

    Args:
        at: the number of the call that fails; none if negative.
        fault: a value of :data:`FAULTS`.
    """

    def __init__(self, at: int = -1, fault: str = "") -> None:
        if fault == "error":
            fault = "io" if at % 2 else "full"
        self.at, self.fault, self.calls = at, fault, 0
        self.written: list[int] = []  # the calls that wrote content
        self._root = Node()

    def _step(self, do: Callable[..., None], *arguments: Any) -> None:
        number, self.calls = self.calls, self.calls + 1
        if number != self.at:
            do(*arguments)
            return
        if self.fault == "io":
            raise OSError(errno.EIO, "Input/output error")
        if self.fault == "full":
            raise OSError(errno.ENOSPC, "No space left on device")
        if self.fault == "short":
            if len(arguments) > 1 and isinstance(arguments[1], bytes):
                do(arguments[0], arguments[1][: len(arguments[1]) // 2], *arguments[2:])
            raise OSError(errno.ENOSPC, "No space left on device")
        if self.fault in ("after", "names"):
            do(*arguments)
        raise Crash

    def _node(self, path: Path) -> Node:
        """What the disk has of a path; what is there and was not written through this disk is certain."""
        node, place = self._root, Path("/")
        for name in path.absolute().parts[1:]:
            place /= name
            if name not in node.names:
                node.names[name] = node.certain[name] = Node(
                    place.is_dir(), place.read_bytes() if place.is_file() else b""
                )
            node = node.names[name]
        return node

    def make_folder(self, path: Path) -> None:
        self._step(self._make_folder, path)

    def _make_folder(self, path: Path) -> None:
        new = not path.exists()
        super().make_folder(path)
        if new:
            self._node(path.parent).names[path.name] = Node(folder=True)

    def write(self, path: Path, content: bytes, mode: int) -> None:
        self.written.append(self.calls)
        self._step(self._write, path, content, mode)

    def _write(self, path: Path, content: bytes, mode: int) -> None:
        super().write(path, content, mode)
        self._node(path.parent).names[path.name] = Node()

    def append(self, path: Path, content: bytes) -> None:
        self.written.append(self.calls)
        self._step(self._append, path, content)

    def _append(self, path: Path, content: bytes) -> None:
        new = not path.exists()
        super().append(path, content)
        if new:
            self._node(path.parent).names[path.name] = Node()

    def sync(self, path: Path) -> None:
        self._step(self._sync, path)

    def _sync(self, path: Path) -> None:
        super().sync(path)
        node = self._node(path)
        if path.is_dir():
            node.certain = dict(node.names)
        else:
            node.synced = path.read_bytes()

    def rename(self, path: Path, target: Path) -> None:
        self._step(self._rename, path, target)

    def _rename(self, path: Path, target: Path) -> None:
        node = self._node(path)
        super().rename(path, target)
        self._node(target.parent).names[target.name] = node
        del self._node(path.parent).names[path.name]

    def link(self, path: Path, target: Path) -> None:
        self._step(self._link, path, target)

    def _link(self, path: Path, target: Path) -> None:
        super().link(path, target)
        self._node(target.parent).names[target.name] = self._node(path)

    def remove(self, path: Path) -> None:
        self._step(self._remove, super().remove, path)

    def remove_folder(self, path: Path) -> None:
        self._step(self._remove, super().remove_folder, path)

    def _remove(self, do: Callable[[Path], None], path: Path) -> None:
        do(path)
        if path.parent.is_dir():
            self._node(path.parent).names.pop(path.name, None)

    def lose_power(self, root: Path) -> None:
        """Make of a folder what a disk may hold after a power cut: what is certain, or names without content."""
        kept = "certain" if self.fault == "power" else "names"
        node = getattr(self._node(root.parent), kept).get(root.name)
        shutil.rmtree(root, ignore_errors=True)
        if node is not None:
            _made(root, node, kept)


def _made(path: Path, node: Node, kept: str) -> None:
    names: dict[str, Node] = getattr(node, kept)
    if not node.folder:
        path.write_bytes(node.synced)
        return
    path.mkdir()
    for name, child in names.items():
        _made(path / name, child, kept)


@contextmanager
def used(disk: Disk) -> Iterator[None]:
    """Everything is written to this disk."""
    before, files.disk = files.disk, disk
    try:
        yield
    finally:
        files.disk = before
