"""Every call that changes the disk fails once, in every way, in a small run of every study; then the run goes on."""

from __future__ import annotations

import random
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch

from seepage.runs import Plan
from tests.faults.disk import FAULTS, Crash, FaultyDisk, used
from tests.faults.runs import SMALL, finished, gone_on_with, small_plan
from tests.faults.tally import Tally


@contextmanager
def a_folder() -> Iterator[Path]:
    """A folder for many small runs, where one thread is as fast as two."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with tempfile.TemporaryDirectory() as folder:
            yield Path(folder)
    finally:
        torch.set_num_threads(before)


def campaign(share: float = 1.0) -> list[Tally]:
    """A line for each way to fail."""
    tallies = {name: Tally(f"each call that changes the disk: {name}") for name in FAULTS}
    with a_folder() as folder:
        for study in SMALL:
            plan, counted = small_plan(study, folder / study), FaultyDisk()
            with used(counted):
                assert not finished(plan, folder / study / "whole")
            for name, fault in FAULTS.items():
                calls = counted.written if fault == "short" else range(counted.calls)
                for call in sorted(random.Random(study).sample(calls, max(1, round(share * len(calls))))):
                    failed_once(plan, folder / study, call, fault, tallies[name])
    return list(tallies.values())


def failed_once(plan: Plan, folder: Path, call: int, fault: str, tally: Tally) -> None:
    """One run that fails at this call, and goes on with a disk that is well."""
    out, disk = folder / "run", FaultyDisk(call, fault)
    shutil.rmtree(out, ignore_errors=True)
    story = f"{plan.study.name}, call {call}, {fault}"
    tally.tried += 1
    with tally.counting(story):
        try:
            with used(disk):
                told = finished(plan, out)
            if told and fault not in ("error", "short"):
                tally.bad("lost", f"{story}: {told}")
        except Crash:
            if fault in ("power", "names") and out.exists():
                disk.lose_power(out)
        gone_on_with(plan, out, folder / "whole", story, tally)
