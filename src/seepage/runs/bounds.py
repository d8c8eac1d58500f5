"""Bounds before work: a run that would take more than anybody expects says so before any of it is done.

What a run costs is counted from its settings first, which takes no time. Where the count is not small, a short trial
of every kind of work tells more, unless a single trial would itself take long.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from seepage._core import InputError, Progress, silent
from seepage._core.memory import machine_memory
from seepage._core.stopwatch import duration
from seepage.results.folder import is_run
from seepage.runs.backends import cores
from seepage.runs.plan import Plan
from seepage.runs.probe import estimate
from seepage.runs.threads import own_threads
from seepage.studies.study import Opened

HOUR = 3600.0  # seconds that need no question
SMALL = 900.0  # seconds by count: the count may be wrong by less than what is left to the hour
TRIAL = 30.0  # seconds that a single trial may take, and all of them together about
SHARE = 0.5  # of the machine's memory that needs no question
BASE = 2**29  # bytes of a process before it does anything


@dataclass(frozen=True)
class Bill:
    """What a run would cost.

    Args:
        seconds: on the wall.
        memory: bytes of all processes together.
        piece: seconds of the longest single trial that would tell more.
    """

    seconds: float
    memory: float
    piece: float

    def sentence(self, most: float = HOUR) -> str | None:
        """What is too much of it; None if nothing is."""
        told = []
        if self.seconds > most:
            told.append(
                f"take about {duration(self.seconds)}, more than {'an hour' if most == HOUR else duration(most)}"
            )
        machine = machine_memory()
        if machine is not None and self.memory > SHARE * machine:
            told.append(
                f"need about {self.memory / 2**30:,.0f} GB of memory, more than half of this machine's "
                f"{machine / 2**30:,.0f} GB"
            )
        return f"This would {' and '.join(told)}." if told else None


def counted(plan: Plan, sources: Sequence[Opened], jobs: int = 1) -> Bill:
    """What a plan would cost by its settings alone, with so many processes."""
    loads = [plan.study.load(sources[task.place], task.variant.settings, task.choice) for task in plan.tasks]
    side_by_side = max(1, min(jobs, cores(), len(loads)))
    largest = max(load.memory for load in loads)
    return Bill(
        seconds=sum(load.seconds for load in loads) / side_by_side,
        memory=side_by_side * (BASE + largest),
        piece=max(load.piece for load in loads),
    )


def too_much(plan: Plan, sources: Sequence[Opened], jobs: int = 1, progress: Progress = silent) -> str | None:
    """A sentence if a plan would take more than an hour, or more than half of the memory; None if not."""
    bill = counted(plan, sources, jobs)
    if bill.seconds <= SMALL or bill.piece > TRIAL or Bill(0.0, bill.memory, 0.0).sentence():
        return bill.sentence()
    try:
        with own_threads():
            seconds = estimate(plan, sources, limit=TRIAL, progress=progress).wall(jobs)
    except InputError:  # a part that cannot be run is told by its check, in its own words
        return bill.sentence()
    return Bill(seconds, bill.memory, bill.piece).sentence()


def check_memory(plan: Plan, sources: Sequence[Opened]) -> None:
    """Stop if a plan would need more than half of the memory: what only looks at models has to build them, too."""
    sentence = Bill(0.0, counted(plan, sources).memory, 0.0).sentence()
    if sentence:
        raise InputError(f"{sentence} Use a smaller model.")


def is_begun(out: Path | None) -> bool:
    """Whether there is a run that goes on: it was accepted when it began."""
    return out is not None and is_run(out)


def check_bounds(plan: Plan, sources: Sequence[Opened], out: Path | None, jobs: int = 1, *, yes: bool = False) -> None:
    """Stop before any work if it would be too much; for callers in Python, who say ``yes=True``."""
    if yes or is_begun(out):
        return
    sentence = too_much(plan, sources, jobs)
    if sentence is not None:
        raise InputError(f"{sentence} Ask for less, or say yes=True to run it all the same.")
