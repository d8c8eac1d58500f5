"""Where this user's caches are, and whether a folder is this user's alone."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

from seepage._core.errors import InputError


def platform_cache() -> Path:
    """``seepage`` in the platform's cache folder of this user."""
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "seepage"


def cache_dir() -> Path:
    """``SEEPAGE_CACHE``, or ``seepage`` in the platform's cache folder."""
    given = os.environ.get("SEEPAGE_CACHE")
    return Path(given) if given else platform_cache()


def private_folder(path: Path) -> Path:
    """A folder that nobody else can write to, made if it is not there: what is in it may be run as code.

    Args:
        path: the folder itself must be no link; those above it may be.

    Raises:
        InputError: it belongs to another user, or another user could put files there.
        OSError: it cannot be made.
    """
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not hasattr(os, "getuid"):  # Windows keeps the folder of a user to that user
        return path
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode):
        raise _refused(path, "it is a link")
    if found.st_uid != os.getuid():
        raise _refused(path, "it belongs to another user")
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise _refused(path, "other users can write to it")
    path.chmod(0o700)
    for above in path.resolve().parents:
        if _others_can_replace(above.stat()):
            raise _refused(path, f"other users can replace it in {above}")
    return path


def _others_can_replace(folder: os.stat_result) -> bool:
    """Whether somebody else than the user and root can rename what is in a folder."""
    if folder.st_uid not in (0, os.getuid()):
        return True
    if folder.st_mode & stat.S_ISVTX:  # as in /tmp: everyone can rename only what is theirs
        return False
    shared = bool(folder.st_mode & stat.S_IWGRP) and folder.st_gid not in (0, os.getgid())
    return shared or bool(folder.st_mode & stat.S_IWOTH)


def _refused(path: Path, why: str) -> InputError:
    return InputError(f"The folder {path} is not safe to use: {why}. Remove it, or make it yours alone.")
