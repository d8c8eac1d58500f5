"""Runs a protocol over a population and keeps what was shared and what was true, apart."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial

import numpy as np
import torch
from torch import Tensor

from seepage._core import Progress, Streams, silent
from seepage.defenses import Defense, Privacy
from seepage.federation.exposure import FINAL, participants
from seepage.federation.fedsgd import sum_over
from seepage.federation.population import Population
from seepage.federation.protocol import FederatedProtocol, Plans, Round
from seepage.federation.servers import MEAN, Memory
from seepage.federation.trace import AttackPoint, Moment, Trace
from seepage.federation.utility import utility
from seepage.federation.watching import UNDEFENDED, Watched, attack_point, attacked_rounds
from seepage.models import Learner, Parameters, fitting_threads, scoped_randomness
from seepage.models.local_clients import apart
from seepage.observation import Knowledge


class Clients:
    """Computes what all clients send, those with equal shapes in one vectorised call.

    Args:
        seed: of the defence's random numbers.
    """

    def __init__(
        self, protocol: FederatedProtocol, population: Population, defense: Defense = UNDEFENDED, *, seed: int = 0
    ) -> None:
        self.population = population
        self._defense = defense
        self._compute = protocol.computation(population.learner, defense)
        self._random = torch.Generator().manual_seed(seed)

    def __call__(self, parameters: Parameters, plans: Plans) -> Round:
        shapes: dict[tuple[int, ...], list[int]] = {}
        for client, plan in plans.items():
            shapes.setdefault(plan.shape, []).append(client)
        groups = list(shapes.values())
        updates = []
        for group in groups:
            places = torch.from_numpy(np.stack([plans[client] for client in group]))
            x, y = self.population.x[places], self.population.y[places]
            updates.append(self._defense.protect(self._compute(parameters, x, y, self._random), self._random))
        return Round(groups, updates)

    def averaged(self, sent: Round) -> Round:
        """What the server averages instead of what they sent."""
        count = sum(map(len, sent.groups))
        return Round(sent.groups, [self._defense.averaged(update, count, self._random) for update in sent.updates])


def simulate(
    protocol: FederatedProtocol,
    population: Population,
    knowledge: Knowledge,
    streams: Streams,
    *,
    defense: Defense = UNDEFENDED,
    watched: Sequence[int] = (1,),
    progress: Progress = silent,
) -> Trace:
    """Train until the exposure target and record the attacked rounds.

    Attacked updates are those the clients sent, before the server averaged them and before a defence of the server's
    own acted on them: the server has seen them. Validation is measured at every attack point and once per exposure;
    the test scores are those of the parameters with the lowest validation loss.
    """
    learner = defense.model(population.learner, streams.integer("defense", "model"))
    population = replace(population, learner=learner)
    clock = protocol.clock(population.sizes)
    total = clock.rounds_until(protocol.exposure)
    attacked = attacked_rounds(protocol, clock, total, watched)
    kept: deque[Watched] = deque(maxlen=max(watched))
    checked = {clock.rounds_until(exposure) for exposure in range(1, int(protocol.exposure) + 1)} | {total}
    workers = [protocol.work(rows, streams.numpy("batches", client)) for client, rows in enumerate(population.owned)]
    called = _calls(population.clients, protocol.participation, streams.numpy("participation"))
    taken = [0] * population.clients
    show = partial(attack_point, protocol, population, knowledge, defense=defense)
    clients = Clients(protocol, population, defense, seed=streams.integer("defense"))
    # A batch that is attacked again and again has random numbers of its own: being watched does not change training.
    again = Clients(protocol, population, defense, seed=streams.integer("defense", "fixed batch"))
    parameters = learner.initial() | learner.buffers()
    memory, best = protocol.server.fresh(apart(learner, parameters)[0]), _Best(population)
    first: Plans = {}
    points: list[AttackPoint] = []
    noise = scoped_randomness(streams.integer("dropout")) if learner.has_noise else nullcontext()
    with torch.no_grad(), noise, fitting_threads(population.clients * (learner.size + population.x.shape[1])):
        for number in range(1, total + 1):
            plans = {client: next(workers[client]) for client in next(called)}
            for client, plan in plans.items():
                first.setdefault(client, plan)
                taken[client] += len(plan)
            sent = clients(parameters, plans)
            if attacked.keys() & range(number, number + max(watched)):  # this round, or one that joins it
                own = {client: first[client] for client in plans}
                shown, secret = (again(parameters, own), own) if protocol.fixed_batch else (sent, plans)
                kept.append(Watched(parameters, shown, secret))
            if number in attacked:
                behind = clock.exposures(number - 1)  # the model that is attacked has seen the rounds before
                scores = best.offer(parameters, Moment(name="", round=number - 1, exposures=behind))
                seen = clock.exposures(number) if number > 1 else behind  # the first is exposure 0 (profiling study)
                for name, many in attacked[number]:
                    trained = Moment(name=name, round=number - 1, exposures=behind)
                    point = show(Moment(name=name, round=number, exposures=seen), list(kept)[-many:])
                    points.append(replace(point, watched=many, trained=trained, validation=dict(scores)))
            weights = [plans[client].size for group in sent.groups for client in group]
            parameters, memory = _next_model(protocol, learner, parameters, clients.averaged(sent), weights, memory)
            if number in checked:
                best.offer(parameters, Moment(name=FINAL, round=number, exposures=clock.exposures(number)))
            progress("training", number, total)
    return best.trace(points, total, _privacy(protocol, population, defense, taken, first))


def _calls(clients: int, share: float, random: np.random.Generator) -> Iterator[list[int]]:
    """The clients that take part, round after round."""
    count = participants(clients, share)
    while True:
        yield list(range(clients)) if count == clients else sorted(random.permutation(clients)[:count].tolist())


def _next_model(
    protocol: FederatedProtocol,
    learner: Learner,
    parameters: Parameters,
    sent: Round,
    weights: Sequence[int],
    memory: Memory,
) -> tuple[Parameters, Memory]:
    """What the server sends out in the next round. Running statistics are averaged, and never stepped."""
    own, buffers = apart(learner, parameters)
    parts = [apart(learner, update) for update in sent.updates]
    mean = protocol.aggregate(own, [update for update, _ in parts], weights)
    if buffers:
        count = sum(len(next(iter(moved.values()))) for _, moved in parts)
        buffers = {n: v + sum_over([moved[n] for _, moved in parts]) / count for n, v in buffers.items()}
    if protocol.server == MEAN:
        return mean | buffers, memory
    stepped, memory = protocol.server.step(own, {n: value - own[n] for n, value in mean.items()}, memory)
    return stepped | buffers, memory


def _privacy(
    protocol: FederatedProtocol, population: Population, defense: Defense, taken: Sequence[int], plans: Plans
) -> tuple[Privacy, ...]:
    """What the defence promises each client that took part for the whole run, if it promises anything."""
    promised = [
        defense.privacy(plan.shape[1] / protocol.drawn_from(population.sizes[client]), taken[client])
        for client, plan in sorted(plans.items())
    ]
    return tuple(privacy for privacy in promised if privacy is not None)


class _Best:
    """Remembers the parameters with the lowest validation loss."""

    def __init__(self, population: Population) -> None:
        self._population = population
        self._learner = population.learner.scoring()
        self._loss = float("inf")
        self._kept: tuple[Moment, Parameters, Mapping[str, float]] | None = None

    def offer(self, parameters: Parameters, moment: Moment) -> Mapping[str, float]:
        scores = self._scores(parameters, self._population.validation)
        if self._kept is None or scores["loss"] < self._loss:
            self._loss = scores["loss"] if scores["loss"] == scores["loss"] else float("inf")
            self._kept = moment, parameters, scores
        return scores

    def trace(self, points: Sequence[AttackPoint], rounds: int, privacy: tuple[Privacy, ...]) -> Trace:
        assert self._kept is not None  # the last round is always offered
        moment, parameters, scores = self._kept
        test = self._scores(parameters, self._population.test)
        return Trace(
            points=tuple(points), rounds=rounds, best=moment, best_validation=scores, test=test, privacy=privacy
        )

    def _scores(self, parameters: Parameters, rows: tuple[Tensor, Tensor]) -> dict[str, float]:
        return utility(self._learner, parameters, *rows, target_scale=self._population.target_scale)
