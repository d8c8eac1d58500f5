"""Fuzzing, guided by coverage: anything may be in a file, and every reader answers it with a sentence or not at all.

atheris (libFuzzer for Python) keeps the inputs that reach new lines and changes those further; it takes a process over,
so each reader has one of its own. Where it is not installed, inputs are drawn. What was found once is in ``corpus``,
and ``test_fuzz.py`` reads it again in every run of the tests.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from tests.faults.tally import Tally

FULL = 100_000  # inputs of each reader
FEWER = {"model_folder": 10_000, "frames": 20_000, "intersections": 20_000}  # networks are built, points multiplied
LONGEST = 400  # bytes of an input
HANGS = 5.0  # seconds after which an input counts as one that hangs
MEMORY = 8 << 30  # bytes: a small file that makes a reader take more is one that must not
STUCK = 1800  # seconds for all inputs of a reader
CORPUS = Path(__file__).parent / "corpus"
ROOT = Path(__file__).parents[2]
FOLLOWED = (
    "seepage.data", "seepage.results", "seepage.plans", "seepage.runs.plan", "seepage.attacks.properties.shards",
    "seepage.federation.vertical", "seepage.federation.network", "seepage.captures", "tomllib",
)  # fmt: skip
NAMES = {
    "csv": "CSV files", "parquet": "Parquet files", "plan": "plans (TOML)", "schema": "schemas (TOML)",
    "preprocessing": "preprocessing facts (TOML)",
    "summary": "summaries (JSON)", "outline": "outlines (JSON)", "task": "tasks (JSON)", "head": "run.json",
    "run_folder": "run folders", "records": "records (Parquet)", "shards": "shadow models (safetensors)",
    "model_folder": "saved models", "messages": "messages of parties",
    "tensors": "captured weights (safetensors)", "npz": "captured weights (npz)", "capture": "captures (JSON)",
    "frames": "frames of a host on another machine", "intersections": "messages of an intersection",
    "party_config": "configurations of parties (TOML)", "party_log": "logs of messages (JSON lines)",
}  # fmt: skip


class HangError(BaseException):
    """An input took too long. No Exception, so that no reader takes it for bad input."""


def campaign(share: float) -> list[Tally]:
    """A share of a hundred thousand inputs for every reader."""
    return [fuzzed(name, max(1, round(share * FEWER.get(name, FULL)))) for name in NAMES]


def fuzzed(name: str, inputs: int) -> Tally:
    """So many inputs for one reader, in a process of its own."""
    tally = Tally(f"inputs for the reader of {NAMES[name]}")
    with tempfile.TemporaryDirectory(prefix="seepage-fuzz-") as folder:
        command = [sys.executable, "-m", "tests.faults.fuzz", name, str(inputs), folder]
        path = os.pathsep.join([str(ROOT / "src"), str(ROOT), os.environ.get("PYTHONPATH", "")])
        environment = os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1"}
        try:
            ended = subprocess.run(command, env=environment, capture_output=True, timeout=STUCK, check=False, cwd=ROOT)
        except subprocess.TimeoutExpired:
            tally.bad("hangs", f"{name} was not through after {STUCK} s")
            return tally
        told = Path(folder) / "told.json"
        found = json.loads(told.read_text()) if told.exists() else {"tried": 0, "bad": []}
        tally.tried = found["tried"]
        for kind, story in found["bad"]:
            tally.bad(kind, story)
        if tally.tried < inputs:
            last = ended.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
            tally.bad("tracebacks", f"{name} ended after {tally.tried} inputs with {ended.returncode}: {last}")
    return tally


class Tried:
    """Gives inputs to a reader and notes what must not happen; each kind of it once."""

    def __init__(self, name: str, inputs: int, folder: Path) -> None:
        from tests.faults.readers import READERS, quietly  # read with their lines followed, or not

        self._name, self._inputs, self._told, self._reader = name, inputs, folder / "told.json", READERS[name]
        self._quietly = quietly
        self._seen: set[str] = set()
        self._bad: list[tuple[str, str]] = []
        self.tried = 0
        signal.signal(signal.SIGALRM, _too_long)

    def __call__(self, content: bytes) -> None:
        from seepage._core import SeepageError

        self.tried += 1
        signal.setitimer(signal.ITIMER_REAL, HANGS)
        try:
            self._quietly(self._reader, content)
        except SeepageError:
            pass
        except HangError as error:
            self._note("hangs", error, content)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001  # a panic of a reader in Rust is no Exception
            self._note("tracebacks", error, content)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        if self.tried == self._inputs or self.tried % 1000 == 0:
            self._write()

    def _note(self, kind: str, error: BaseException, content: bytes) -> None:
        frames = reversed(traceback.extract_tb(error.__traceback__))
        place = next((f"{Path(each.filename).name}:{each.lineno}" for each in frames if "seepage" in each.filename), "")
        what = f"{type(error).__name__} at {place}"
        if what not in self._seen:
            self._seen.add(what)
            self._bad.append((kind, f"{self._name}: {what} for {content.hex()}"))
            self._write()

    def _write(self) -> None:
        self._told.write_text(json.dumps({"tried": self.tried, "bad": self._bad}))


def _too_long(*_: object) -> None:
    raise HangError


def drawn(name: str, inputs: int) -> Iterator[bytes]:
    """Inputs that no coverage guides: the same in every run."""
    random_bytes = random.Random(f"{name}{inputs}")
    for _ in range(inputs):
        kind = random_bytes.choice((0, 1, *[2] * 10))
        yield bytes([kind]) + random_bytes.randbytes(random_bytes.choice((4, 8, 16, 60)))


def kept(name: str) -> list[bytes]:
    """Inputs that were found to be wrong once, or that reach far."""
    return [file.read_bytes() for file in sorted((CORPUS / name).glob("*"))]


def keep(name: str, content: bytes) -> Path:
    """Put an input into the corpus."""
    file = CORPUS / name / hashlib.blake2b(content, digest_size=6).hexdigest()
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    return file


def main(name: str, inputs: int, folder: Path) -> None:
    """A reader's process."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    if find_spec("atheris") is None:
        tried = Tried(name, inputs, folder)
        for content in drawn(name, inputs):
            tried(content)
        return
    import atheris

    with atheris.instrument_imports(include=list(FOLLOWED)):
        tried = Tried(name, inputs, folder)
    begin = folder / "begin"
    begin.mkdir()
    for number, content in enumerate((*kept(name), *drawn(name, 50))):
        (begin / str(number)).write_bytes(content)
    flags = [
        f"-atheris_runs={inputs}",
        f"-max_len={LONGEST}",
        "-seed=1",
        "-timeout=60",
        "-rss_limit_mb=0",
        "-verbosity=0",
    ]
    atheris.Setup([sys.argv[0], *flags, f"-artifact_prefix={folder}/", str(begin)], tried)
    atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]))
