"""One way to write a file: whole, or not at all."""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from seepage._core.errors import DiskFull

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


def write_atomically(target: Path, content: str | bytes) -> Path:
    """Write a file so that it appears whole, under its name, or not at all, whenever the machine stops.

    It is written beside its place, is safely on the disk, and is then moved there; the folder is synced too, so that
    the move itself is not lost. A full disk is one sentence (:class:`DiskFull`), and nothing is left behind.
    """
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        with told_if_full(target):
            target.parent.mkdir(parents=True, exist_ok=True)
            with temporary.open("wb") as stream:
                stream.write(content.encode() if isinstance(content, str) else content)
                stream.flush()
                os.fsync(stream.fileno())
            temporary.replace(target)
            sync_folder(target.parent)
    except DiskFull:
        temporary.unlink(missing_ok=True)
        raise
    return target


def sync_folder(folder: Path) -> None:
    """Make sure that names in a folder are on the disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def told_if_full(target: Path) -> Iterator[None]:
    """A full disk is one sentence."""
    try:
        yield
    except OSError as error:
        if error.errno not in _FULL:
            raise
        raise DiskFull(f"The disk is full: {target} could not be written. What is finished is kept.") from None


def digest(content: bytes) -> str:
    """A short name of what a file must be."""
    return hashlib.blake2b(content, digest_size=16).hexdigest()
