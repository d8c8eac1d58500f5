"""A file is read in another process first, where its reader cannot take ours along.

A damaged Parquet file can make its reader ask for more memory than there is, and then the whole process is ended; no
Python code can catch that. The other process answers whether a file can be read, and may die of it.
"""

from __future__ import annotations

import atexit
import json
import subprocess
import sys
from functools import lru_cache
from pathlib import Path
from threading import Lock

_ANSWERS = """
import json, sys
import polars as pl
for line in sys.stdin:
    try:
        pl.read_parquet(json.loads(line), glob=False)
    except BaseException:
        pass
    sys.stdout.write("alive\\n")
    sys.stdout.flush()
"""
_turn = Lock()


@lru_cache(maxsize=1)
def _reader() -> subprocess.Popen[str]:
    """One process for all files. It is loaded while we go on, ends with us, and says nothing."""
    process = subprocess.Popen(
        [sys.executable, "-I", "-c", _ANSWERS],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    atexit.register(_end, process)
    return process


def _end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            stream.close()


def survives(path: Path) -> bool:
    """Whether a reader of this Parquet file lives; what it thinks of the file is for our own to say."""
    with _turn:
        process, alive = _reader(), False
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps(str(path.absolute())) + "\n")
            process.stdin.flush()
            alive = process.stdout.readline() == "alive\n"
        except BrokenPipeError:
            pass
        finally:
            if not alive:  # it died, or we were interrupted and its answer would be taken for that to the next file
                atexit.unregister(_end)
                _end(process)
                _reader.cache_clear()
        return alive
