"""The cost of an audit of rows, counted from its settings."""

from __future__ import annotations

import math

from seepage.attacks import Exact, RowsAttack
from seepage.attacks.exact.cascade import LARGE, REPLAYED
from seepage.attacks.totals import Counting
from seepage.data.source import Source
from seepage.federation.exposure import participants
from seepage.plans import registry
from seepage.studies.load import CALL, FLOPS, PASS, Load, Shape, shape_of
from seepage.studies.rows.cost import MORE_STEPS, PHASES, RESTARTS, ROUNDS
from seepage.studies.rows.making import make_protocol, make_training
from seepage.studies.rows.running import RowsChoice
from seepage.studies.rows.settings import RowsSettings

TRAINED = 0.7  # of the rows
ALGEBRA = 0.1  # seconds that an attack takes on an update before any step
SECOND = 4  # times the operations of a first derivative: attacks differentiate gradients
BYTES = 4
OWN_LIMIT = 2000.0  # megabytes that attacks take at once, if they do not say


def load_of(source: Source, settings: RowsSettings, choice: RowsChoice, points: int) -> Load:
    """What one choice costs: trainings, and attacks on their updates at so many points."""
    shape, batch, clients = shape_of(source, settings, choice.model, "rows"), choice.batch_size, settings.client_count
    local = _local_steps(settings, batch, len(source.table))
    owned = max(1, int(TRAINED * len(source.table)) // clients)
    protocol = make_protocol(settings, batch)
    rounds = max(1.0, protocol.exposure * owned / (batch * local * settings.participation))
    a_round = local * shape.step(clients * batch)
    federations = math.ceil(settings.trials / participants(clients, settings.participation))
    attacks = [registry.make("attack", name, "rows", settings.attack_options) for name in settings.attacks]
    seconds = federations * rounds * a_round
    behind = batch * local // settings.local_epochs
    if settings.protocol == "fedavg" and not make_training(settings).linear and behind > REPLAYED:
        behind = max(behind, LARGE + 1)  # as little as of so many rows is tried then
    for name, attack in zip(settings.attacks, attacks, strict=True):
        seconds += (
            points
            * _joined(settings, name)
            * _attack(_budgets(attack, behind, local), shape, batch, local, settings.trials)
        )
        if isinstance(attack, Counting):
            seconds += points * attack.clients * local * shape.step(batch)
    tried = max(_attack(_short(attack, behind, local), shape, batch, local, 1) for attack in attacks)
    return Load(
        seconds=seconds,
        memory=_memory(source, shape, batch, clients, federations * points * max(settings.rounds))
        + max(_attack_memory(attack, shape, batch, settings.trials) for attack in attacks),
        piece=max(min(rounds, ROUNDS) * a_round, 5 * tried),
    )


def _joined(settings: RowsSettings, name: str) -> int:
    """How often the rounds of a client are attacked: each of those that are joined, at worst."""
    return sum(many for each, many in settings.tried if each == name)


def attack_load(attack: RowsAttack, shape: Shape, batch: int, local: int, updates: int) -> Load:
    """What an attack on so many updates costs, where nothing is trained."""
    return Load(
        seconds=_attack(_budgets(attack, batch * local, local), shape, batch, local, updates)
        + (attack.clients * local * shape.step(batch) if isinstance(attack, Counting) else 0.0),
        memory=_attack_memory(attack, shape, batch, updates),
        piece=_attack(_short(attack, batch * local, local), shape, batch, local, 1),
    )


def _local_steps(settings: RowsSettings, batch: int, rows: int) -> int:
    """Steps of a client between two updates."""
    if settings.protocol == "fedsgd":
        return 1
    share = max(1, int(TRAINED * rows) // settings.client_count)
    owned = share if settings.local_rows == "all" else min(int(settings.local_rows), rows)
    batches = max(1, owned // batch)
    return settings.local_epochs * (batches if settings.local_batches is None else min(settings.local_batches, batches))


def _budgets(attack: RowsAttack, rows: int = 0, steps: int = 1) -> list[tuple[int, int]]:
    """Steps and restarts of the attack's optimisations; none where it says that it does not apply."""
    if isinstance(attack, Exact) and steps > 1 and rows > LARGE:
        return []
    return [(getattr(attack, steps), getattr(attack, many)) for steps, many in PHASES if hasattr(attack, steps)]


def _short(attack: RowsAttack, rows: int, steps: int) -> list[tuple[int, int]]:
    """The budgets with which it is tried."""
    return [(min(each, MORE_STEPS), min(many, RESTARTS)) for each, many in _budgets(attack, rows, steps)]


def _attack(budgets: list[tuple[int, int]], shape: Shape, batch: int, local: int, updates: int) -> float:
    """Seconds of an attack on so many updates: if it needs all of its steps, or reads them by algebra."""
    wide = shape.inputs**2 * (shape.inputs + batch) / FLOPS
    seconds = updates * (ALGEBRA + wide)
    for steps, restarts in budgets:
        together = SECOND * 6 * batch * shape.parameters * restarts * updates / FLOPS
        seconds += steps * local * (SECOND * CALL * PASS * shape.tensors + together)
    return seconds


def _memory(source: Source, shape: Shape, batch: int, clients: int, points: int) -> float:
    """Bytes of the encoded rows, the clients' models and steps, and the updates that are kept to be attacked."""
    rows = 3 * len(source.table) * shape.inputs
    return BYTES * (
        rows + clients * (3 * shape.parameters + 4 * batch * shape.inputs) + points * clients * shape.parameters
    )


def _attack_memory(attack: RowsAttack, shape: Shape, batch: int, updates: int) -> float:
    """Bytes of an attack: of one restart at least, and of all of them as far as its own limit lets them."""
    restarts = max((many for _, many in _budgets(attack)), default=1)
    one = BYTES * (10 * batch * shape.inputs + 3 * shape.parameters) + 8 * 4 * shape.inputs**2
    own = float(getattr(attack, "memory", OWN_LIMIT)) * 2**20
    return max(one, min(own, one * restarts * updates))
