"""What the server saw of clients in some rounds, and what was true."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch

from seepage._core import InputError
from seepage.defenses import Defense, Undefended
from seepage.federation.exposure import Clock
from seepage.federation.population import Population
from seepage.federation.protocol import FederatedProtocol, Plans, Round
from seepage.federation.space import known_space
from seepage.federation.trace import AttackPoint, Moment, Truth
from seepage.models import Parameters
from seepage.models.local_clients import apart
from seepage.observation import Knowledge, Observation, Space

UNDEFENDED = Undefended()


def last_watched(number: int, many: int, total: int) -> int:
    """The last of so many rounds from this one on; where the training ends before, of its last ones."""
    if many > total:
        raise InputError(f"The training has {total} rounds, so {many} cannot be watched; raise its exposure.")
    return min(number + many - 1, total)


@dataclass(frozen=True)
class Watched:
    """One round: the model that was sent out, what came back, and whose rows were behind it."""

    parameters: Parameters
    shown: Round
    plans: Plans


def attacked_rounds(
    protocol: FederatedProtocol, clock: Clock, total: int, watched: Sequence[int]
) -> dict[int, list[tuple[str, int]]]:
    """The attack points that end in each round, with how many rounds each of them joins."""
    found: dict[int, list[tuple[str, int]]] = {}
    for name, number in protocol.schedule.rounds(clock, total).items():
        for many in watched:
            found.setdefault(last_watched(number, many, total), []).append((name, many))
    return found


def attack_point(
    protocol: FederatedProtocol,
    population: Population,
    knowledge: Knowledge,
    moment: Moment,
    rounds: Sequence[Watched],
    *,
    defense: Defense = UNDEFENDED,
) -> AttackPoint:
    """What the server saw of all clients in some rounds, the last of which is attacked, and what was true in that."""
    last, space = rounds[-1], known_space(population, knowledge)
    observations, truths = [], []
    for client, plan in last.plans.items():
        seen = [
            _seen(protocol, population, knowledge, space, each, client, defense=defense)
            for each in rounds
            if client in each.plans
        ]
        observations.append(replace(seen[-1], earlier=tuple(seen[:-1])))
        places = plan.reshape(-1)[: seen[-1].exchange.rows]
        table = population.tables[client]
        truths.append(
            Truth(
                rows=table.take(places - population.owned[client][0]),
                encoder=population.encoder,
                statistics=population.statistics[client],
                client_rows=table,
            )
        )
    return AttackPoint(
        moment=moment,
        trained=moment,
        clients=tuple(last.plans),
        observations=tuple(observations),
        truths=tuple(truths),
        validation={},
    )


def _seen(
    protocol: FederatedProtocol,
    population: Population,
    knowledge: Knowledge,
    space: Space,
    watched: Watched,
    client: int,
    *,
    defense: Defense,
) -> Observation:
    """What the server saw of one client in one round."""
    weights, buffers = apart(population.learner, watched.parameters)
    update, moved = apart(population.learner, watched.shown.of_client(client))
    buffers, moved = (buffers, moved) if protocol.share_statistics else ({}, {})
    plan = watched.plans[client]
    covered = not isinstance(defense, Undefended)
    exchange = replace(protocol.exchange(plan), covered=covered, channel=defense.channel())
    places = plan.reshape(-1)[: exchange.rows]
    # Sorted: their order would tell who shared a local batch.
    labels = population.y[torch.from_numpy(places)].sort().values if knowledge.labels else None
    return Observation(
        learner=population.learner,
        space=space,
        parameters=weights,
        update=update,
        exchange=exchange,
        labels=labels,
        buffers=buffers,
        moved=moved,
    )
