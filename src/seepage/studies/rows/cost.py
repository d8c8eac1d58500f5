"""What an audit of rows costs, from short trials: a round of training, and an attack with a small budget.

An optimiser's seconds grow with its steps and, more slowly, with its restarts, which are run together. A few short runs
tell how much. An attack that reads everything by algebra costs what it costs.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from seepage._core import Outcome, Streams, silent
from seepage.data.source import Source
from seepage.observation import Observation
from seepage.plans import registry
from seepage.studies.rows.attacking import claims_of
from seepage.studies.rows.making import make_protocol, train
from seepage.studies.rows.running import RowsChoice, rounds_of
from seepage.studies.rows.settings import RowsSettings

ROUNDS = 20  # of training that are tried
STEPS, MORE_STEPS = 10, 40  # of an optimiser that is tried
RESTARTS = 2
LONGEST = 10.0  # seconds of one trial with many restarts; where it would take longer, few must do
# How much dearer a step of a long run is than the first ones, which are tried: L-BFGS looks longer for its steps near
# the end. Adult with 32 and 128 rows and clinic in FedAvg took 1.4, 1.8 and 1.9 times what their first steps said.
LATER = 1.7
PHASES = (("steps", "restarts"), ("start_steps", "starts"))  # options of optimisations; `exact` has two of them
FEWER = {"turns": 1}


@dataclass(frozen=True)
class AttackCost:
    """Seconds of an attack on some updates at once.

    Args:
        fixed: for every update, whatever the budget.
        step: for a step, whatever the restarts and updates: the cost of starting operations.
        share: for a step of one restart of one update.
    """

    fixed: float
    step: float = 0.0
    share: float = 0.0

    def seconds(self, attack: Any, updates: int) -> float:
        """Of an attack with its own budget."""
        return self.fixed * updates + LATER * sum(
            steps * (self.step + self.share * restarts * updates) for steps, restarts in phases(attack)
        )


def phases(attack: Any) -> list[tuple[int, int]]:
    """Steps and restarts of every optimisation in an attack; none for one that does not optimise."""
    return [
        (getattr(attack, steps), getattr(attack, restarts))
        for steps, restarts in PHASES
        if hasattr(attack, steps) and hasattr(attack, restarts)
    ]


def round_seconds(source: Source, settings: RowsSettings, choice: RowsChoice) -> float:
    """Of a round of training: what so many rounds take longer than none."""
    rounds = rounds_of(source, settings, choice.batch_size)[0]
    few, exposure = min(ROUNDS, rounds), make_protocol(settings, choice.batch_size).exposure
    if not few:
        return 0.0
    taken = []
    for share in (0.0, few / rounds):
        changed = settings.model_copy(update={"exposure": share * exposure, "attack_points": ("initialized",)})
        begin = time.process_time()
        train(source, changed, choice.model, choice.defense, choice.batch_size, Streams(settings.seed), silent)
        taken.append(time.process_time() - begin)
    return max(0.0, taken[1] - taken[0]) / few


def first_update(source: Source, settings: RowsSettings, choice: RowsChoice) -> Observation:
    """An update before any training: what an attack is tried on."""
    untrained = settings.model_copy(update={"exposure": 0.0, "attack_points": ("initialized",), "trials": 1})
    streams = Streams(settings.seed)
    trace, _ = train(source, untrained, choice.model, choice.defense, choice.batch_size, streams, silent)
    return trace.points[0].observations[0]


def attack_cost(name: str, settings: RowsSettings, observation: Observation) -> AttackCost:
    """What an attack on such updates costs; a few seconds of trying, whatever its budget."""
    attack = registry.make("attack", name, "rows", settings.attack_options)
    kinds = phases(attack)
    if not kinds:
        return AttackCost(_timed(attack, [observation])[0])
    _timed(_cut(attack, 2, 1), [observation])  # the first call of anything is slower
    first, everything = _timed(_cut(attack, STEPS, RESTARTS), [observation])
    if everything:  # read by algebra: no step is needed
        return AttackCost(first)
    few = _step(attack, RESTARTS, first, observation) / len(kinds)
    most = max(restarts for _, restarts in kinds)
    widest = next((many for many in (most, 8) if many <= most and many * few * MORE_STEPS < LONGEST), RESTARTS)
    if widest <= RESTARTS:
        return AttackCost(max(first - STEPS * few * len(kinds), 0.0), 0.0, few / RESTARTS)
    many = _step(attack, widest, _timed(_cut(attack, STEPS, widest), [observation])[0], observation) / len(kinds)
    share = min(max(many - few, 0.0) / (widest - RESTARTS), many / widest)
    return AttackCost(max(first - STEPS * few * len(kinds), 0.0), many - share * widest, share)


def _step(attack: Any, restarts: int, first: float, observation: Observation) -> float:
    """Seconds of a step in all phases with so many restarts: what more steps take longer than ``first``."""
    longer, _ = _timed(_cut(attack, MORE_STEPS, restarts), [observation])
    return max(longer - first, 0.0) / (MORE_STEPS - STEPS)


def _cut(attack: Any, steps: int, restarts: int) -> Any:
    """The attack with a small budget in all its phases."""
    changes = {name: value for name, value in FEWER.items() if hasattr(attack, name)}
    for step, restart in PHASES:
        if hasattr(attack, step) and hasattr(attack, restart):
            changes |= {step: min(steps, getattr(attack, step)), restart: min(restarts, getattr(attack, restart))}
    return replace(attack, **changes)


def _timed(attack: Any, observations: Sequence[Observation]) -> tuple[float, bool]:
    """Seconds, and whether everything was read."""
    begin = time.process_time()
    claims = claims_of(attack, observations, Streams(0), silent)
    taken = time.process_time() - begin
    return taken, all(claim.outcome is Outcome.OK for claim in claims)
