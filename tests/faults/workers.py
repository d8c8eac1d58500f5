"""Workers killed at random moments, on the local pool and on Dask: a run ends with the numbers of a quiet one."""

from __future__ import annotations

import os
import random
import signal
import tempfile
import threading
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import cast

from seepage._core import RunStopped
from seepage.runs import Plan, run
from seepage.runs.backends import Backend, Local, open_backend
from tests.faults.ports import processes
from tests.faults.tally import Tally
from tests.runs.test_every_study import PLANS, numbers, planned

KILLS = 200
BACKENDS = {"local": "a worker of the local pool killed", "dask": "a worker on Dask killed"}
WORKERS = 1
AT_ONCE = 5  # kills of one run; three of one task give it up, and it is run again when the run goes on
PATIENCE = 180.0  # seconds without an end until it counts as a hang
RESUMES = 10


def workers() -> list[int]:
    """The worker processes that this process has started."""
    found = []
    for pid in processes():
        with suppress(OSError):
            if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes() and pid != os.getpid():
                found.append(pid)
    return found


class Killer(threading.Thread):
    """Kills workers of this process, each after a random while.

    Args:
        kills: how many.
        warm: seconds that a run takes: the first kill is somewhere in them.
        cold: seconds that it takes with new workers, for the next ones.
    """

    def __init__(self, kills: int, warm: float, cold: float, chance: random.Random) -> None:
        super().__init__(daemon=True)
        self.kills, self._warm, self._cold, self._chance = kills, warm, cold, chance
        self.done = 0
        self._over = threading.Event()

    def run(self) -> None:
        """Until all kills are done, or the run is."""
        while self.done < self.kills:
            if self._over.wait(self._chance.uniform(0, self._cold if self.done else self._warm)):
                return
            there = workers()
            if there:
                with suppress(ProcessLookupError):  # it has just ended
                    os.kill(self._chance.choice(there), signal.SIGKILL)
                    self.done += 1

    def stop(self) -> None:
        """No more kills."""
        self._over.set()
        self.join()


class Disturbed(threading.Thread):
    """So many kills of workers that run a study's tiny plan, over as many runs as that takes.

    It is a thread, so that one that hangs can be left behind: ``last`` says when something last happened. Workers are
    opened in it, for they end with the thread that started them.
    """

    def __init__(self, study: str, backend: str, kills: int, tally: Tally, *, jobs: int = WORKERS) -> None:
        super().__init__(daemon=True)
        self._study, self._name, self._kills, self._tally, self._jobs = study, backend, kills, tally, jobs
        self._workers, self._backend = ExitStack(), cast(Backend, None)
        self._chance = random.Random(f"{study} {backend}")
        self.last = time.monotonic()

    @property
    def where(self) -> str:
        """What is disturbed, in words."""
        return f"{self._study} on {self._name}"

    def run(self) -> None:
        """Until all kills are done, or something happened that must not."""
        try:
            with tempfile.TemporaryDirectory() as folder, self._workers:
                self._open()
                self._kill_all(Path(folder))
        except Exception as error:  # noqa: BLE001  # a user would have seen it
            self._tally.bad("tracebacks", f"{self.where}: {error!r}")

    def _open(self) -> None:
        """New workers, as a user who starts the command again has them."""
        self._workers.close()
        self._backend = self._workers.enter_context(open_backend(self._name, jobs=self._jobs))
        if isinstance(self._backend, Local):  # a worker with more threads than free cores takes many times as long
            self._backend.threads = 1
            self._backend._pool = self._backend._open()

    def _kill_all(self, folder: Path) -> None:
        plan = planned(self._study, folder)
        cold, warm = (self._seconds(plan, folder / name) for name in ("cold", "warm"))
        expected = numbers(folder / "cold")  # by such workers: other numbers of threads give other last digits
        left, runs = self._kills, 0
        while left > 0:
            runs += 1
            killer = Killer(min(AT_ONCE, left), warm, cold, self._chance)
            whole = self._ended(plan, folder / f"run-{runs}", killer)
            self._tally.tried += killer.done
            left -= killer.done
            if not whole:
                self._tally.bad("lost", f"{self.where}: not whole after {RESUMES} starts")
            elif not numbers(folder / f"run-{runs}").equals(expected):
                self._tally.bad("different", f"{self.where}, run {runs}")

    def _seconds(self, plan: Plan, out: Path) -> float:
        began = time.monotonic()
        run(plan, out=out, command="", backend=self._backend)
        return time.monotonic() - began

    def _ended(self, plan: Plan, out: Path, killer: Killer) -> bool:
        """Run and go on until the run is whole; whether it came to that. Nobody is killed after the first end."""
        killer.start()
        for _ in range(RESUMES):
            self.last = time.monotonic()
            try:
                left = run(plan, out=out, command="", backend=self._backend, strict=False).not_run
            except RunStopped:  # one sentence, and the run goes on with new workers
                killer.stop()
                self._open()
                continue
            killer.stop()
            if not left:
                return True
        return False


def disturbed(study: str, backend: str, kills: int, tally: Tally, *, jobs: int = WORKERS) -> None:
    """Disturb a study; one that does nothing for too long is left behind."""
    thread = Disturbed(study, backend, kills, tally, jobs=jobs)
    thread.start()
    while thread.is_alive():
        thread.join(0.5)
        if time.monotonic() - thread.last > PATIENCE:
            tally.bad("hangs", f"{thread.where}: nothing happened for {PATIENCE:.0f} s")
            return


def campaign(share: float) -> list[Tally]:
    """The share of all kills, as many for each study and each place to work."""
    each = max(1, round(KILLS * share / len(BACKENDS) / len(PLANS)))
    tallies = []
    for name, what in BACKENDS.items():
        tally = Tally(what)
        for study in PLANS:
            disturbed(study, name, each, tally)
        tallies.append(tally)
    return tallies
