"""What a plan would cost: a short trial of every kind of work, carried over to all of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from seepage._core import InputError, Progress, silent
from seepage._core.memory import peak_memory
from seepage._core.stopwatch import Stopwatch
from seepage.runs.backends import cores
from seepage.runs.plan import Plan, Task
from seepage.studies.study import Opened, Probe

START = 8.0  # seconds of every run: loading torch and the table, compiling, summing up, the report


@dataclass(frozen=True)
class Impossible:
    """A task that cannot be run, and why."""

    task: Task
    reason: str


@dataclass(frozen=True)
class Estimate:
    """What is known before a plan is run.

    Args:
        cells: at most; points that coincide are attacked once.
        seconds: of one core.
        memory: bytes of the process that tried; 0 where that is not known.
        tried, kinds: how many kinds of work were tried, of how many.
    """

    tasks: int
    cells: int
    seconds: float
    memory: int
    tried: int
    kinds: int

    def wall(self, jobs: int) -> float:
        """Seconds with so many processes."""
        return START + self.seconds / max(1, min(jobs, cores(), self.tasks))


def impossible(plan: Plan, sources: Sequence[Opened]) -> list[Impossible]:
    """Tasks of the plan that cannot be run; the others can."""
    found = []
    for task in plan.tasks:
        try:
            plan.study.check(sources[task.place], task.variant.settings, task.choice)
        except InputError as error:
            found.append(Impossible(task, str(error)))
    return found


def check_some_possible(plan: Plan, sources: Sequence[Opened]) -> None:
    """Stop before anything is written if no task of the plan can be run: a folder of nothing is in the way later."""
    wrong: dict[str, str] = {}
    for task in plan.tasks:
        if any(needed in wrong for needed in task.needs.values()):
            continue
        try:
            plan.study.check(sources[task.place], task.variant.settings, task.choice)
        except InputError as error:
            wrong[task.id] = str(error)
        else:
            return
    raise InputError(next(iter(wrong.values())))


@dataclass
class _Kind:
    """A kind of work, with one task that does it."""

    task: Task
    probe: Probe
    times: int = 0
    cost: float | None = None


def estimate(
    plan: Plan,
    sources: Sequence[Opened],
    *,
    limit: float = 60.0,
    skip: Sequence[Impossible] = (),
    progress: Progress = silent,
) -> Estimate:
    """Try every kind of work once, until the time is up; kinds not reached cost the mean of those alike."""
    left_out = {each.task.id for each in skip}
    tasks = [task for task in plan.tasks if task.id not in left_out]
    kinds: dict[tuple[object, ...], _Kind] = {}
    for task in tasks:
        for probe in plan.study.probes(sources[task.place], task.variant.settings, task.choice):
            key = (sources[task.place].name, *probe.kind)
            kinds.setdefault(key, _Kind(task, probe)).times += probe.times
    watch = Stopwatch()
    for number, kind in enumerate(kinds.values(), start=1):
        if number > 2 and watch.taken > limit:
            break
        task = kind.task
        with watch:
            kind.cost = plan.study.try_one(sources[task.place], task.variant.settings, task.choice, kind.probe)
        progress("trials", number, len(kinds))
    every = list(kinds.values())
    return Estimate(
        tasks=len(tasks),
        cells=sum(plan.study.cells(task.variant.settings, task.choice) for task in tasks),
        seconds=watch.busy
        * sum(_total([kind for kind in every if kind.probe.trains is each]) for each in (True, False)),
        memory=peak_memory() or 0,
        tried=sum(kind.cost is not None for kind in every),
        kinds=len(every),
    )


def _total(kinds: Sequence[_Kind]) -> float:
    costs = [kind.cost for kind in kinds if kind.cost is not None]
    mean = sum(costs) / len(costs) if costs else 0.0
    return sum((mean if kind.cost is None else kind.cost) * kind.times for kind in kinds)
