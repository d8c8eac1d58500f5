"""Secure aggregation as a protocol: the server is given the sum over a cohort, round after round, and nothing else.

How the masks are made is no part of it: what is simulated is what they leave, the sum in float32. A real protocol adds
up whole numbers modulo a large one; its steps are a rounding too, usually a coarser one.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, replace

import numpy as np
import torch

from seepage._core import InputError, Streams
from seepage.data import Table
from seepage.federation.fedavg import FedAvg
from seepage.federation.fedsgd import FedSGD
from seepage.federation.population import Population
from seepage.federation.protocol import Plans, Round
from seepage.federation.simulation import Clients
from seepage.federation.space import known_space
from seepage.federation.trace import Truth
from seepage.models import Parameters, scoped_randomness
from seepage.observation import Knowledge
from seepage.observation.sums import CohortSum
from seepage.results.cohorts import check_cohort


@dataclass(frozen=True, kw_only=True, eq=False)
class CohortTruth:
    """What is true of the sums: only the evaluation may hold it.

    Args:
        rows: of all clients, one client after the other.
        owners: (rows,) whose each is.
        cohorts: who took part, sum by sum.
        absent: the client that the round that was run again left out; None if there was none.
        whole: truth about all rows, from which that of some is taken.
    """

    rows: Table
    owners: np.ndarray
    cohorts: tuple[tuple[int, ...], ...]
    absent: int | None
    whole: Truth

    def of(self, clients: set[int]) -> Truth:
        """The rows of these clients, in one table."""
        return replace(self.whole, rows=self.rows.take(np.flatnonzero(np.isin(self.owners, list(clients)))))

    @property
    def watched(self) -> set[int]:
        """All clients that took part in a round."""
        return {client for cohort in self.cohorts for client in cohort}


@dataclass(frozen=True, kw_only=True)
class SecureAggregation:
    """Rounds of a federation whose server sees sums over cohorts only.

    A client works on the same rows in every round. Weights move with the mean of each round's cohort.

    Args:
        protocol: what clients compute: FedSGD or FedAvg.
        cohort: clients of a round.
        rounds: watched rounds.
        apart: further rounds between two that are watched: the server sees them too, but they are not attacked.
        changing: the cohort is drawn anew in every round; else the first one stays.
        rerun: the first round is run again at the same weights without one client, as after a client was lost.

    Example:
        >>> SecureAggregation(protocol=FedSGD(batch_size=2), cohort=4).rounds
        1
    """

    protocol: FedSGD | FedAvg
    cohort: int
    rounds: int = 1
    apart: int = 0
    changing: bool = True
    rerun: bool = False

    def __post_init__(self) -> None:
        check_cohort(self.cohort)
        if self.rounds < 1 or self.apart < 0:
            raise InputError(f"There are {self.rounds} rounds, {self.apart} apart; at least 1 and 0 are needed.")

    def __call__(
        self, population: Population, knowledge: Knowledge, streams: Streams
    ) -> tuple[list[CohortSum], CohortTruth]:
        """What the server sees, and what is true."""
        check_cohort(self.cohort, population.clients)
        workers = [
            self.protocol.work(rows, streams.numpy("batches", client)) for client, rows in enumerate(population.owned)
        ]
        plans: Plans = {client: next(worker) for client, worker in enumerate(workers)}
        drawn = streams.numpy("cohorts")
        clients = Clients(self.protocol, population, seed=streams.integer("defense"))
        parameters, sums = population.learner.initial(), []
        last = (self.rounds - 1) * (self.apart + 1) + 1
        absent: int | None = None
        noise = scoped_randomness(streams.integer("dropout")) if population.learner.has_noise else nullcontext()
        with torch.no_grad(), noise:
            for number in range(1, last + 1):
                if self.changing or number == 1:
                    cohort = sorted(drawn.permutation(population.clients)[: self.cohort].tolist())
                sent = clients(parameters, {client: plans[client] for client in cohort})
                if (number - 1) % (self.apart + 1) == 0:
                    sums.append(self._sum(number, cohort, parameters, sent, plans, population, knowledge))
                if self.rerun and number == 1:
                    absent = int(drawn.choice(cohort))
                    others = [client for client in cohort if client != absent]
                    again = clients(parameters, {client: plans[client] for client in others})
                    repeated = self._sum(last + 1, others, parameters, again, plans, population, knowledge)
                weights = [plans[client].size for group in sent.groups for client in group]
                parameters = self.protocol.aggregate(parameters, sent.updates, weights)
        if self.rerun:
            sums.append(repeated)
        return sums, _truth(population, plans, sums, absent)

    def _sum(
        self,
        number: int,
        cohort: list[int],
        parameters: Parameters,
        sent: Round,
        plans: Plans,
        population: Population,
        knowledge: Knowledge,
    ) -> CohortSum:
        """One round as the server sees it."""
        rules = [self.protocol.exchange(plans[client]) for client in cohort]
        total = {name: torch.zeros_like(value) for name, value in parameters.items()}
        for client, own in zip(cohort, rules, strict=True):
            for name, value in sent.of_client(client).items():
                total[name] += value * own.rows
        rows = sum(each.rows for each in rules)
        places = np.concatenate([np.unique(plans[client]) for client in cohort])
        labels = population.y[torch.from_numpy(places)].sort().values if knowledge.labels else None
        return CohortSum(
            number=number,
            cohort=tuple(cohort),
            learner=population.learner,
            space=known_space(population, knowledge),
            parameters=parameters,
            total=total,
            exchange=replace(rules[0], rows=rows, batch_size=sum(each.batch_size for each in rules)),
            labels=labels,
        )


def _truth(population: Population, plans: Plans, sums: list[CohortSum], absent: int | None) -> CohortTruth:
    """Rows that the clients work on, and whose they are."""
    tables, owners = [], []
    for client, plan in plans.items():
        places = np.unique(plan) - population.owned[client][0]
        tables.append(population.tables[client].take(places))
        owners.append(np.full(len(places), client))
    rows = joined(tables)
    return CohortTruth(
        rows=rows,
        owners=np.concatenate(owners),
        cohorts=tuple(each.cohort for each in sums),
        absent=absent,
        whole=Truth(rows=rows, encoder=population.encoder, statistics=population.pooled, client_rows=rows),
    )


def joined(tables: list[Table]) -> Table:
    """Tables of one schema, one below the other."""
    first = tables[0]
    return Table(
        first.schema,
        np.concatenate([table.numbers for table in tables]),
        np.concatenate([table.codes for table in tables]),
        np.concatenate([table.target for table in tables]),
    )
