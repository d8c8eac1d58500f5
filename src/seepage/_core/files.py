"""One way to write a file: whole, synced, private; or not at all.

Every call that changes a disk goes through :data:`disk`, so that tests can put a failing one in its place.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from seepage._core.errors import DiskFull, InputError, NotWritten

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_SEAL = re.compile(rb'\{"seal": "([0-9a-f]{32})",?')
PRIVATE, SHARED = 0o600, 0o666  # the second is for files that others are meant to read; the umask applies


class Disk:
    """The calls that change a disk, one system call or so each. Nothing is on the disk before it is synced."""

    def make_folder(self, path: Path) -> None:
        """A folder that only its owner can enter."""
        path.mkdir(mode=0o700, exist_ok=True)

    def write(self, path: Path, content: bytes, mode: int) -> None:
        """A file with this content; an older one of the name is gone."""
        self._put(path, content, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)

    def append(self, path: Path, content: bytes) -> None:
        """One write at the end: processes that append do not mix theirs."""
        self._put(path, content, os.O_WRONLY | os.O_CREAT | os.O_APPEND, PRIVATE)

    def open_end(self, path: Path) -> int:
        """A file to which many lines are added, one write each; who opens it closes it."""
        return self._open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, PRIVATE)

    def add(self, handle: int, content: bytes) -> None:
        """Add to an open file."""
        left = memoryview(content)
        while left:
            left = left[os.write(handle, left) :]

    def _open(self, path: Path, flags: int, mode: int) -> int:
        return os.open(path, flags | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0), mode)

    def _put(self, path: Path, content: bytes, flags: int, mode: int) -> None:
        handle = self._open(path, flags, mode)
        try:
            self.add(handle, content)
        finally:
            os.close(handle)

    def sync(self, path: Path) -> None:
        """Make sure that a file's content, or the names in a folder, are on the disk."""
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

    def rename(self, path: Path, target: Path) -> None:
        """Another name for a file or folder; a file of that name is replaced in one step."""
        path.replace(target)

    def link(self, path: Path, target: Path) -> None:
        """A second name for a file; FileExistsError if it is taken."""
        os.link(path, target)

    def remove(self, path: Path) -> None:
        """A file that need not be there."""
        path.unlink(missing_ok=True)

    def remove_folder(self, path: Path) -> None:
        """A folder with all that is in it, that need not be there."""
        shutil.rmtree(path, ignore_errors=True)


disk = Disk()


def write_atomically(target: Path, content: str | bytes, *, mode: int = PRIVATE) -> Path:
    """Write a file so that it appears whole, under its name, or not at all, whenever the machine stops.

    It is written beside its place, is safely on the disk, and is then moved there; the folder is synced too, so that
    the move itself is not lost. A disk that is full or broken is one sentence (:class:`NotWritten`), and nothing is
    left behind.
    """
    temporary = _beside(target)
    with told_if_not_written(target):
        try:
            make_folders(target.parent)
            disk.write(temporary, content.encode() if isinstance(content, str) else content, mode)
            disk.sync(temporary)
            disk.rename(temporary, target)
            disk.sync(target.parent)
        except OSError:
            with suppress(OSError):
                disk.remove(temporary)
            raise
    return target


def write_new(target: Path, content: str | bytes) -> Path:
    """Write a file that the user asked for under this name, for others to read; one that exists is not touched."""
    temporary = _beside(target)
    try:
        disk.write(temporary, content.encode() if isinstance(content, str) else content, SHARED)
        disk.sync(temporary)
        disk.link(temporary, target)
        disk.sync(target.parent)
    except OSError as error:
        if not isinstance(error, FileExistsError):
            raise NotWritten(f"{target} cannot be written: {error.strerror}.") from None
        raise InputError(f"{target} exists already; choose another name or remove it.") from None
    finally:
        with suppress(OSError):
            disk.remove(temporary)
    return target


def append_line(target: Path, line: str) -> None:
    """Add a line that is on the disk afterwards.

    It begins on a new line whatever is there: half a line that a crash left stays a wrong line of its own.
    """
    with told_if_not_written(target):
        new = not target.exists()
        disk.append(target, f"\n{line}\n".encode())
        disk.sync(target)
        if new:
            disk.sync(target.parent)


def make_folders(path: Path) -> None:
    """A folder and those above it, for their owner only as far as they are new, and on the disk."""
    missing = [each for each in (path, *path.parents) if not each.is_dir()]
    for each in reversed(missing):
        disk.make_folder(each)
        disk.sync(each.parent)


def move(path: Path, target: Path) -> None:
    """Give a file or folder another place, synced on both sides."""
    with told_if_not_written(target):
        make_folders(target.parent)
        disk.rename(path, target)
        disk.sync(target.parent)
        disk.sync(path.parent)


def touch(path: Path) -> None:
    """Make sure that a file is there."""
    with told_if_not_written(path):
        make_folders(path.parent)
        disk.append(path, b"")


def remove(path: Path) -> None:
    """Remove a file, or a folder with all that is in it, that need not be there."""
    with told_if_not_written(path):
        if path.is_dir() and not path.is_symlink():
            disk.remove_folder(path)
        elif path.exists() or path.is_symlink():
            disk.remove(path)


def remove_leftovers(folder: Path) -> None:
    """Remove what processes of this machine that are gone were writing below a folder when they were stopped."""
    for place in (folder, *(each for each in folder.iterdir() if each.is_dir() and not each.is_symlink())):
        for path in place.glob(".*.tmp"):
            found = re.fullmatch(r"\..*\.([0-9a-f]+)-(\d+)\.tmp", path.name)
            if found and found[1] == _here() and not _alive(int(found[2])):
                disk.remove(path)


def _beside(target: Path) -> Path:
    return target.with_name(f".{target.name}.{_here()}-{os.getpid()}.tmp")


@cache
def _here() -> str:
    """Where process numbers mean what they mean here: this machine, and this container of it."""
    facts = [os.uname().nodename if hasattr(os, "uname") else ""]
    with suppress(OSError):
        facts.append(Path("/etc/machine-id").read_text())
    with suppress(OSError):
        facts.append(str(Path("/proc/self/ns/pid").readlink()))
    return digest(repr(facts).encode())[:8]


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


@contextmanager
def told_if_not_written(target: Path) -> Iterator[None]:
    """A disk that is full, broken or not ours is one sentence."""
    try:
        yield
    except FileExistsError:
        raise
    except OSError as error:
        if error.errno in _FULL:
            raise DiskFull(f"The disk is full: {target} could not be written. What is finished is kept.") from None
        raise NotWritten(f"{target} could not be written: {error.strerror}. What is finished is kept.") from None


def digest(content: bytes) -> str:
    """A short name of what a file must be."""
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def sealed(document: str) -> str:
    """A JSON object that says itself, first, what it must be.

    Example:
        >>> unsealed(sealed('{"a": 1}').encode())
        b'{"a": 1}'
        >>> unsealed(sealed('{"a": 1}').replace("1", "2").encode()) is None
        True
    """
    rest = document[1:]
    return f'{{"seal": "{digest(document.encode())}"{"" if rest.lstrip().startswith("}") else ","}{rest}'


def unsealed(content: bytes) -> bytes | None:
    """The JSON object as it was before it was sealed; None if it is not what was written."""
    found = _SEAL.match(content)
    if found is None:
        return None
    document = b"{" + content[found.end() :]
    return document if digest(document) == found[1].decode() else None
