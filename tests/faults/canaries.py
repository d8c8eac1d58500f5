"""Values that nobody else has are put into tables; then everything that a run leaves or says is searched for them."""

from __future__ import annotations

import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl

from seepage.plans import registry
from tests import cases
from tests.faults.runs import SMALL, small_plan
from tests.faults.tally import Tally
from tests.faults.writes import a_folder

WORD, NUMBER = "Zyxwquartz", 73411.1875  # the number is exact as a float32, and its bytes are nobody else's
CANARIES = {
    "the text": WORD.encode(),
    "the number as text": str(NUMBER).encode(),
    "the number as float32": struct.pack("<f", NUMBER),
    "the number as float64": struct.pack("<d", NUMBER),
}
# A trained model cannot do without the categories and ranges of its columns; each party has its own, and says so.
NEEDED = ("schema.toml", "statistics.json")
BACKENDS = {"this process": [], "processes": ["--jobs", "2"], "dask": ["--backend", "dask", "--jobs", "1"]}
PATIENCE = 300.0


def campaign(share: float = 1.0) -> list[Tally]:
    """One line for runs that end, and one for runs that are killed."""
    ended = Tally("canaries in all that a finished run leaves")
    killed = Tally("canaries in all that a killed run leaves")
    every = [(study, backend) for study in SMALL for backend in BACKENDS]
    chosen = random.Random(4).sample(every, max(1, round(share * len(every))))
    with a_folder() as folder:
        for number, (study, backend) in enumerate(every):
            if (study, backend) not in chosen:
                continue
            home = folder / str(number)
            seconds = watched(study, backend, home, ended)
            watched(study, backend, home, killed, after=random.Random(number).uniform(0.5, 0.95) * seconds)
        messy(folder / "messy", ended)
    return [ended, killed]


def a_table(path: Path) -> None:
    """The tiny table with canaries in a few of its rows."""
    frame = cases.frame()
    few = np.arange(frame.height) % 9 == 0
    frame.with_columns(
        pl.when(few).then(pl.lit(WORD)).otherwise(pl.col("colour")).alias("colour"),
        pl.when(few).then(NUMBER).otherwise(pl.col("size")).alias("size"),
    ).write_csv(path)


def all_attacks(study: str) -> dict[str, list[str]]:
    """Every attack of the catalogue, short."""
    if study not in ("rows", "vertical", "parties", "updates", "cohorts"):
        return {}
    parts = [part for part in registry.parts_of("attack", study) if part.name != "cafe_nested"]
    return {"attacks": [part.name + _quickly(part.make()) for part in parts]}


def _quickly(attack: object) -> str:
    """Options that make an attack short, as far as it has them."""
    return "".join(f":{name}=2" for name in ("steps", "restarts") if type(getattr(attack, name, None)) is int)


def watched(
    study: str, backend: str, home: Path, tally: Tally, *, after: float | None = None, quick: bool = False
) -> float:
    """One run of the command line with a home, a cache and a temporary folder of its own; returns its seconds."""
    shutil.rmtree(home, ignore_errors=True)
    for name in ("out", "tmp", "cache"):
        (home / name).mkdir(parents=True)
    a_table(home / "table.csv")
    more = {} if study in ("property", "training", "parties", "cohorts") else {"reveal": False}
    small_plan(study, home, table=home / "table.csv", **more, **({} if quick else all_attacks(study)))
    before, began = set(_shared_memory()), time.monotonic()
    words = ["audit", "--plan", str(home / f"{study}.toml"), "--out", str(home / "out" / "run"), *BACKENDS[backend]]
    said = _run(words, home, after)
    seconds = time.monotonic() - began
    tally.tried += 1
    story = f"{study} on {backend}" + ("" if after is None else f", killed after {after:.1f} s")
    if said is None:
        tally.bad("hangs", story)
        return seconds
    if after is None and not (home / "out" / "run" / "summary.json").exists():
        tally.bad("lost", f"{story}: {said[-300:]!r}")
    searched(home, said, [path for path in _shared_memory() if path not in before], story, tally)
    return seconds


def messy(home: Path, tally: Tally) -> None:
    """A file whose errors and overview could quote cells."""
    for name in ("out", "tmp", "cache"):
        (home / name).mkdir(parents=True)
    frame = cases.frame().with_columns(pl.col("age").cast(pl.String))
    few = np.arange(frame.height) % 31 == 5
    frame.with_columns(pl.when(few).then(pl.lit(WORD)).otherwise(pl.col("age")).alias("age")).write_csv(home / "t.csv")
    audit = ["audit", "--data", str(home / "t.csv"), "--target", "age", "--task", "regression", "--out", "out/x"]
    for words in (["data", "check", str(home / "t.csv")], audit):
        tally.tried += 1
        searched(home, _run(words, home) or b"", [], " ".join(words[:2]), tally)


def _run(words: list[str], home: Path, after: float | None = None) -> bytes | None:
    """What a command says; None if it hangs. It is killed with all its processes after so many seconds."""
    own = {"HOME": str(home), "TMPDIR": str(home / "tmp"), "SEEPAGE_CACHE": str(home / "cache"), "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(
        [sys.executable, "-m", "seepage", *words],
        env=os.environ | own,
        cwd=home,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    ) as child:
        try:
            return child.communicate(timeout=after or PATIENCE)[0]
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            said = child.communicate()[0]
            return said if after is not None else None


def searched(home: Path, said: bytes, shared: list[Path], story: str, tally: Tally) -> None:
    """Count every canary in a file or on the screen."""
    table = (home / "table.csv", home / "t.csv")
    places = {"the screen": said} | {str(path): _content(path) for path in shared}
    for path in home.rglob("*"):
        if path.is_file() and path not in table and not ("model" in path.parts and path.name in NEEDED):
            places[str(path.relative_to(home))] = _content(path)
    for place, content in places.items():
        for name, canary in CANARIES.items():
            if canary in content:
                tally.bad("canaries", f"{story}: {name} in {place}")


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:  # gone since it was listed
        return b""


def _shared_memory() -> Iterator[Path]:
    return (path for path in Path("/dev/shm").glob("*") if path.is_file()) if Path("/dev/shm").is_dir() else iter(())
