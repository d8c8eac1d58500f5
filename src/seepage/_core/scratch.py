"""A scratch folder that does not outlive a run."""

from __future__ import annotations

import fcntl
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from seepage._core.cache import cache_dir, private_folder
from seepage._core.files import told_if_not_written

_BEING_MADE = 60.0  # seconds in which a scratch folder may still be without its lock


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A folder that is gone afterwards; what a killed process left of its own is removed here, too.

    It may hold what was made of private rows, so it is in one place, for its owner only: ``scratch`` in the cache.
    """
    with told_if_not_written(cache_dir() / "scratch"):
        place = private_folder(cache_dir() / "scratch")
        remove_abandoned(place)
        folder = Path(tempfile.mkdtemp(dir=place))
    try:
        with (folder / "lock").open("wb") as stream:
            fcntl.flock(stream, fcntl.LOCK_EX)  # ends with this process, however that ends
            (folder / "work").mkdir(mode=0o700)
            yield folder / "work"
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def remove_abandoned(place: Path) -> None:
    """Remove the scratch folders of processes that are gone."""
    for folder in place.iterdir():
        try:
            with (folder / "lock").open("rb") as stream:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
        except BlockingIOError:  # somebody works there
            continue
        except OSError:  # it has no lock yet, or it is being removed
            if folder.is_dir() and time.time() - folder.lstat().st_mtime > _BEING_MADE:
                shutil.rmtree(folder, ignore_errors=True)
