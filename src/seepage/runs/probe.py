"""What a plan would cost: a short probe of every kind of training and attack, carried over to all of them."""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from seepage._core import InputError, Progress, Streams, silent
from seepage.runs.backends import cores
from seepage.runs.plan import Plan, Task
from seepage.studies.rows.running import check_choice, rounds_of, run_choice, train
from seepage.studies.rows.settings import Settings
from seepage.data.source import Source
from seepage.runs.task import Memory

POINTS = 5  # that `auto` stands for
ROUNDS = 20  # of training that are tried


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
        seconds: of one core.
        memory: bytes of one process that ran a probe.
        probed, kinds: how many kinds of trainings and attacks were tried, of how many.
    """

    tasks: int
    cells: int
    seconds: float
    memory: int
    probed: int
    kinds: int

    def wall(self, jobs: int) -> float:
        """Seconds with so many processes."""
        return self.seconds / max(1, min(jobs, cores(), self.tasks))


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
    """Train a few rounds and attack one batch of every kind, until the time is up; kinds not reached cost the mean.

    A kind is a table, protocol, model and batch size with a defence to train or an attack; seeds and points are alike.
    """
    left_out = {each.task.id for each in skip}
    tasks = [task for task in plan.tasks if task.id not in left_out]
    probes = _probes(tasks, sources)
    begin = time.perf_counter()
    for number, probe in enumerate(probes, start=1):
        if number > 2 and time.perf_counter() - begin > limit:
            break
        probe.cost = probe.try_one()
        progress("probes", number, len(probes))
    known = [probe for probe in probes if probe.cost is not None]
    return Estimate(
        tasks=len(tasks),
        cells=sum(len(task.variant.settings.attacks) * _points(task.variant.settings) for task in tasks),
        seconds=sum(_total([probe for probe in probes if probe.trains is each]) for each in (True, False)),
        memory=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024),
        probed=len(known),
        kinds=len(probes),
    )


@dataclass
class _Probe:
    """A kind of work.

    Args:
        try_one: seconds of one round or of one attacked batch.
        trains: whether it is a round.
        times: how many there are in the plan.
        cost: what the trial said.
    """

    try_one: Callable[[], float]
    trains: bool
    times: int = 0
    cost: float | None = None


def _probes(tasks: Sequence[Task], sources: Sequence[Source]) -> list[_Probe]:
    """Every kind of work of a plan, each with how often it is done; a training before its attacks."""
    found: dict[tuple[object, ...], _Probe] = {}
    for task in tasks:
        settings, source = task.variant.settings, sources[task.place]
        where = (str(task.variant.request.data), settings.protocol, task.choice.model, task.choice.batch_size)
        if settings.protocol != "vertical":  # there the batches that are attacked are the training
            probe = found.setdefault(
                (*where, "trains", task.choice.defense), _Probe(partial(_one_round, source, task), trains=True)
            )
            probe.times += sum(rounds_of(source, settings, task.choice))
        for attack in settings.attacks:
            probe = found.setdefault((*where, attack), _Probe(partial(_one_batch, source, task, attack), trains=False))
            probe.times += _batches(settings)
    return list(found.values())


def _total(probes: Sequence[_Probe]) -> float:
    costs = [probe.cost for probe in probes if probe.cost is not None]
    mean = sum(costs) / len(costs) if costs else 0.0
    return sum((mean if probe.cost is None else probe.cost) * probe.times for probe in probes)


def _one_round(source: Source, task: Task) -> float:
    """Seconds of processor time for a round of training: what so many rounds take longer than one."""
    settings = task.variant.settings
    rounds = rounds_of(source, settings, task.choice)[0]
    few, exposure = min(ROUNDS, rounds), settings.make_protocol(task.choice.batch_size).exposure
    taken = []
    for share in (0.0, few / rounds):
        changes = {"exposure": share * exposure, "attack_points": ("initialized",)}
        changes |= {"models": (task.choice.model,), "defenses": (task.choice.defense,)}
        begin = time.process_time()
        train(source, settings.model_copy(update=changes), task.choice.batch_size, Streams(settings.seed), silent)
        taken.append(time.process_time() - begin)
    return max(0.0, taken[1] - taken[0]) / few


def _one_batch(source: Source, task: Task, attack: str) -> float:
    """Seconds for one attacked batch, before training; for everyone's rows once where learning is vertical."""
    settings = task.variant.settings.model_copy(
        update={"attacks": (attack,), "trials": 1, "exposure": 0.0, "attack_points": ("initialized",), "reveal": False}
    )
    memory = Memory()
    begin = time.process_time()
    run_choice(source, settings, task.choice, memory)
    if settings.protocol == "vertical":
        return time.process_time() - begin
    return sum(record.seconds for records in memory.records.values() for record in records)


def _batches(settings: Settings) -> int:
    """Attacked batches of one attack in one training."""
    return (settings.recoveries if settings.protocol == "vertical" else settings.trials) * _points(settings)


def _points(settings: Settings) -> int:
    if settings.protocol == "vertical":
        return 1
    return POINTS if settings.attack_points == ("auto",) else len(settings.attack_points)
