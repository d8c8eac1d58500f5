"""What an audit of rows costs, from short trials: a round of training, and an attack with a small budget.

An optimiser's seconds grow with its steps and, more slowly, with its restarts, which are run together. A few short runs
tell how much. An attack that reads everything by algebra costs what it costs.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from statistics import median

from seepage._core import Outcome, Streams, silent
from seepage.attacks import RowsAttack
from seepage.data.source import Source
from seepage.metrics import Evaluator
from seepage.observation import Claim, Observation
from seepage.plans import registry
from seepage.studies.rows.attacking import claims_of
from seepage.studies.rows.making import knowledge_of, make_protocol, train
from seepage.studies.rows.running import RowsChoice, rounds_of
from seepage.studies.rows.settings import RowsSettings

ROUNDS = 60  # of training that are tried
STEPS, MORE_STEPS = 10, 40  # of an optimiser that is tried
RESTARTS = 2
LONGEST = 10.0  # seconds of one trial with many restarts; where it would take longer, few must do
# How much dearer a step of a long run is than the first ones, which are tried: L-BFGS looks longer for its steps near
# the end. Adult with 32 and 128 rows and clinic in FedAvg took 1.4, 1.8 and 1.9 times what their first steps said.
LATER = 1.7
PHASES = (("steps", "restarts"), ("start_steps", "starts"))  # options of optimisations; `exact` has two of them
FEWER = {"turns": 1}


@dataclass(frozen=True)
class PhaseCost:
    """Seconds of one optimisation of an attack.

    Args:
        phase: the options that are its steps and restarts.
        step: for a step, whatever the restarts and updates: the cost of starting operations.
        share: for a step of one restart of one update.
    """

    phase: tuple[str, str]
    step: float = 0.0
    share: float = 0.0

    def seconds(self, attack: RowsAttack, updates: int) -> float:
        steps, restarts = (getattr(attack, name) for name in self.phase)
        return float(LATER * steps * (self.step + self.share * restarts * updates))


@dataclass(frozen=True)
class AttackCost:
    """Seconds of an attack on some updates at once: for every update whatever the budget, and of its optimisations."""

    fixed: float
    phases: tuple[PhaseCost, ...] = ()

    def seconds(self, attack: RowsAttack, updates: int) -> float:
        """Of an attack with its own budget."""
        return self.fixed * updates + sum(phase.seconds(attack, updates) for phase in self.phases)


def round_seconds(source: Source, settings: RowsSettings, choice: RowsChoice) -> float:
    """Of a usual round of training: setting up a large table takes far longer, and so does looking how good it is."""
    rounds = rounds_of(source, settings, choice.batch_size)[0]
    few, exposure = min(ROUNDS, rounds), make_protocol(settings, choice.batch_size).exposure
    if few < 2:
        return 0.0
    ends: list[float] = []

    def watch(label: str, done: int, total: int, note: str = "") -> None:
        ends.append(time.process_time())

    changed = settings.model_copy(
        update={"exposure": few / rounds * exposure, "attack_points": ("initialized",), "rounds": (1,)}
    )
    train(source, changed, choice.model, choice.defense, choice.batch_size, Streams(settings.seed), watch)
    return median(later - sooner for sooner, later in itertools.pairwise(ends)) if len(ends) > 1 else 0.0


@dataclass(frozen=True, eq=False)
class Sample:
    """An update before any training, that attacks are tried on, and how a claim of its rows is scored."""

    update: Observation
    score: Callable[[], object]

    @cached_property
    def scoring(self) -> float:
        """Seconds that scoring takes. Pairing thousands of rows takes minutes, so it is tried only where it is done."""
        begin = time.process_time()
        self.score()
        return time.process_time() - begin


def first_update(source: Source, settings: RowsSettings, choice: RowsChoice) -> Sample:
    """A client's first update."""
    untrained = settings.model_copy(
        update={"exposure": 0.0, "attack_points": ("initialized",), "trials": 1, "rounds": (1,)}
    )
    streams = Streams(settings.seed)
    trace, whole = train(source, untrained, choice.model, choice.defense, choice.batch_size, streams, silent)
    truth = trace.points[0].truths[0]
    claim = Claim(outcome=Outcome.OK, rows=truth.encoder.encode(truth.rows, truth.statistics))
    evaluator = Evaluator(training=whole, deviation=settings.deviation, matching=settings.matching)
    score = partial(evaluator, claim, truth, knowledge_of(settings), streams.numpy("scoring"))
    return Sample(trace.points[0].observations[0], score)


def attack_cost(name: str, settings: RowsSettings, sample: Sample) -> AttackCost:
    """What an attack on such updates costs, and scoring it; a few seconds of trying, whatever its budget."""
    attack = registry.make("attack", name, "rows", settings.attack_options)
    tried, rows = _tried(attack, sample.update)
    return replace(tried, fixed=tried.fixed + sample.scoring) if rows else tried


def _tried(attack: RowsAttack, observation: Observation) -> tuple[AttackCost, bool]:
    """The cost, and whether rows are claimed, which must be scored."""
    phases = [phase for phase in PHASES if all(hasattr(attack, option) for option in phase)]
    if not phases:
        seconds, _, rows = _timed(attack, observation)
        return AttackCost(seconds), rows
    small = _cut(attack, phases)
    _timed(_budget(small, phases[0], 2, 1), observation)  # the first call of anything is slower
    first, everything, rows = _timed(small, observation)
    if everything or not rows:  # read by algebra, or not at all: no step is needed
        return AttackCost(first), rows
    costs = tuple(_phase_cost(attack, small, phase, first, observation) for phase in phases)
    steps = sum(STEPS * (cost.step + RESTARTS * cost.share) for cost in costs)
    return AttackCost(max(first - steps, 0.0), costs), rows


def _phase_cost(
    attack: RowsAttack, small: RowsAttack, phase: tuple[str, str], first: float, observation: Observation
) -> PhaseCost:
    """What a step costs with few restarts, and with as many as the attack has if that does not take long."""

    def step(restarts: int, begin: float | None = None) -> float:
        """Seconds of a step: what more of them take longer."""
        short = _timed(_budget(small, phase, STEPS, restarts), observation)[0] if begin is None else begin
        longer = _timed(_budget(small, phase, MORE_STEPS, restarts), observation)[0]
        return max(longer - short, 0.0) / (MORE_STEPS - STEPS)

    few, most = step(RESTARTS, first), getattr(attack, phase[1])
    widest = next((many for many in (most, 8) if many <= most and many * few * MORE_STEPS < LONGEST), 0)
    if widest <= RESTARTS:
        return PhaseCost(phase, 0.0, few / RESTARTS)
    many = step(widest)
    share = min(max(many - few, 0.0) / (widest - RESTARTS), many / widest)
    return PhaseCost(phase, many - share * widest, share)


def cut_short(attack: RowsAttack) -> RowsAttack:
    """The attack with hardly a budget: what algebra reads, it still reads."""
    return _cut(attack, [phase for phase in PHASES if all(hasattr(attack, option) for option in phase)])


def _cut(attack: RowsAttack, phases: Sequence[tuple[str, str]]) -> RowsAttack:
    """The attack with a small budget in all its phases."""
    fewer = {name: value for name, value in FEWER.items() if hasattr(attack, name)}
    attack = replace(attack, **fewer)  # type: ignore[type-var]  # a dataclass
    for phase in phases:
        attack = _budget(attack, phase, STEPS, RESTARTS)
    return attack


def _budget(attack: RowsAttack, phase: tuple[str, str], steps: int, restarts: int) -> RowsAttack:
    return replace(attack, **dict(zip(phase, (steps, restarts), strict=True)))  # type: ignore[type-var]  # a dataclass


def _timed(attack: RowsAttack, observation: Observation) -> tuple[float, bool, bool]:
    """Seconds, whether everything was read, and whether rows were claimed at all."""
    begin = time.process_time()
    claims = claims_of(attack, [observation], Streams(0), silent)
    taken = time.process_time() - begin
    rows = any(claim.rows is not None for claim in claims)
    return taken, rows and all(claim.outcome is Outcome.OK for claim in claims), rows
