"""What a plan would cost: a short probe of every kind of cell, carried over to all of them."""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

from seepage._core import InputError, Progress, silent
from seepage.audit.backends import cores
from seepage.audit.plan import Plan, Task
from seepage.audit.runner import check_choice, run_choice
from seepage.audit.settings import Settings
from seepage.audit.source import Source
from seepage.audit.task import Memory

POINTS = 5  # that `auto` stands for


@dataclass(frozen=True)
class Impossible:
    """A training that cannot be run, and why."""

    task: Task
    reason: str


@dataclass(frozen=True)
class Estimate:
    """What is known before a plan is run.

    Args:
        cells: at most; points that coincide are attacked once.
        seconds: of one core; None if nothing was probed.
        memory: bytes of one process that ran a probe.
        probed, kinds: how many kinds of cells were tried, of how many.
    """

    tasks: int
    cells: int
    seconds: float | None
    memory: int
    probed: int
    kinds: int

    def wall(self, jobs: int) -> float | None:
        """Seconds with so many processes."""
        return None if self.seconds is None else self.seconds / max(1, min(jobs, cores(), self.tasks))


def impossible(plan: Plan, sources: Sequence[Source]) -> list[Impossible]:
    """Trainings of the plan that cannot be run; the others can."""
    found = []
    for task in plan.tasks:
        try:
            check_choice(sources[task.place], task.variant.settings, task.choice)
        except InputError as error:
            found.append(Impossible(task, str(error)))
    return found


def estimate(
    plan: Plan,
    sources: Sequence[Source],
    *,
    limit: float = 60.0,
    skip: Sequence[Impossible] = (),
    progress: Progress = silent,
) -> Estimate:
    """Attack one batch of every kind of cell, until the time is up; kinds that were not reached cost the mean.

    A kind is a training at its table, protocol, model and batch size, with one attack; seeds and points are alike.
    """
    left_out = {each.task.id for each in skip}
    tasks = [task for task in plan.tasks if task.id not in left_out]
    kinds: dict[tuple[object, ...], list[tuple[Task, str]]] = {}
    for task in tasks:
        settings = task.variant.settings
        for attack in settings.attacks:
            key: tuple[object, ...] = (
                str(task.variant.request.data),
                settings.protocol,
                task.choice.model,
                task.choice.batch_size,
                attack,
            )
            kinds.setdefault(key, []).append((task, attack))
    known: dict[tuple[object, ...], float] = {}
    begin = time.perf_counter()
    for number, (kind, members) in enumerate(kinds.items(), start=1):
        if known and time.perf_counter() - begin > limit:
            break
        task, attack = members[0]
        known[kind] = _one(sources[task.place], task, attack)
        progress("probes", number, len(kinds))
    mean = sum(known.values()) / len(known) if known else 0.0
    total = sum(
        known.get(key, mean) * _batches(task.variant.settings) for key, members in kinds.items() for task, _ in members
    )
    return Estimate(
        tasks=len(tasks),
        cells=sum(len(task.variant.settings.attacks) * _points(task.variant.settings) for task in tasks),
        seconds=total if known else None,
        memory=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024),
        probed=len(known),
        kinds=len(kinds),
    )


def _one(source: Source, task: Task, attack: str) -> float:
    """Seconds of processor time for one attacked batch, before training."""
    settings = task.variant.settings.model_copy(
        update={"attacks": (attack,), "trials": 1, "exposure": 0.0, "attack_points": ("initialized",), "reveal": False}
    )
    begin = time.process_time()
    run_choice(source, settings, task.choice, Memory())
    return time.process_time() - begin


def _batches(settings: Settings) -> int:
    """Attacked batches of one attack in one training."""
    return (settings.recoveries if settings.protocol == "vertical" else settings.trials) * _points(settings)


def _points(settings: Settings) -> int:
    if settings.protocol == "vertical":
        return 1
    return POINTS if settings.attack_points == ("auto",) else len(settings.attack_points)
