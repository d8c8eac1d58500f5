"""Runs one choice of the study of rows: federations are trained, their updates attacked, the claims measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np

from seepage._core import Streams, under
from seepage.attacks import RowsAttack
from seepage.data.source import Source
from seepage.defenses import Defense
from seepage.federation import Trace
from seepage.federation.exposure import participants
from seepage.federation.watching import last_watched
from seepage.metrics import Evaluator
from seepage.plans import registry
from seepage.results import RowsCell
from seepage.results.rows import Exposure, Promise, Utility
from seepage.studies.rows.attacking import AttackedUpdate, attack_cells, joined
from seepage.studies.rows.making import make_partition, make_protocol, train
from seepage.studies.rows.settings import RowsSettings
from seepage.studies.study import Found, Work


@dataclass(frozen=True)
class RowsChoice:
    """What one federation is trained with."""

    model: str
    defense: str
    batch_size: int

    @property
    def label(self) -> str:
        parts = [self.model, f"batch {self.batch_size}", self.defense]
        return ", ".join(part for part in parts if part != "none")


def run_choice(work: Work) -> Found:
    """Train the federations of one choice, and attack them at every point by every attack."""
    source, settings, choice = work.source, work.settings, work.choice
    found = Found()
    traces, evaluators = [], []
    for repeat in range(repeats(source, settings)):
        streams = Streams(settings.seed).child("repeat", repeat)
        label = under(choice.label, work.progress)
        trace, whole = train(source, settings, choice.model, choice.defense, choice.batch_size, streams, label)
        traces.append(trace)
        evaluators.append(Evaluator(training=whole, deviation=settings.deviation, matching=settings.matching))
        _note_costs(found, work, repeat, trace)
    guard: Defense = registry.make("defence", choice.defense, "rows")
    found.threat_model = guard.amend(traces[0].points[0].observations[0].describe())  # what was really handed out
    for name, many in settings.tried:
        points = _attacked_points(traces, settings, many)
        attack = registry.make("attack", name, "rows", settings.attack_options)
        cells = {point: _cell(work, point, name, many) for point in points}
        found.cells += [(cell, "") for cell in cells.values()]
        _attack(work, name, attack, points, cells, evaluators)
    return found


def _attack(
    work: Work,
    name: str,
    attack: RowsAttack,
    points: Mapping[str, Sequence[AttackedUpdate]],
    cells: Mapping[str, RowsCell],
    evaluators: Sequence[Evaluator],
) -> None:
    """One attack at every point; cells that are stored are not stored again."""
    for together in joined(points, attack):
        targets = {cells[point]: points[point] for point in together}
        stored = {cell: work.sink.has(cell) for cell in targets}
        if all(stored.values()):
            continue
        where = together[0] if len(together) == 1 else f"{len(together)} attack points"
        many = next(iter(targets)).watched
        joined_rounds = f", {many} rounds" if many > 1 else ""
        label = under(f"{work.choice.label}, {where}, {name}{joined_rounds}", work.progress)
        # All of them, also those that are stored: how updates are grouped changes the last digits.
        for cell, (records, pairs) in attack_cells(targets, attack, evaluators, work.settings, label).items():
            if not stored[cell]:
                work.sink.add(records, pairs)


def _cell(work: Work, point: str, attack: str, watched: int) -> RowsCell:
    return RowsCell(
        dataset=work.source.name,
        protocol=work.settings.protocol,
        attack_point=point,
        attack=attack,
        watched=watched,
        variant=work.variant,
        **asdict(work.choice),
    )


def rounds_of(source: Source, settings: RowsSettings, batch_size: int) -> list[int]:
    """The rounds of each training; a sentence if its clients or its attack points cannot be."""
    protocol = make_protocol(settings, batch_size)
    found = []
    for repeat in range(repeats(source, settings)):
        clock = protocol.clock(_sizes(source, settings, repeat))
        rounds = clock.rounds_until(protocol.exposure)
        for number in protocol.schedule.rounds(clock, rounds).values():
            last_watched(number, max(settings.rounds), rounds)
        found.append(rounds)
    return found


_SPLIT_BY = ("seed", "partition", "client_count", "alpha", "partition_column")
REMEMBERED = 10_000  # splits whose sizes are kept: thousands of cells of a plan share a few of them
_sizes_of: dict[tuple[object, ...], list[int]] = {}


def _sizes(source: Source, settings: RowsSettings, repeat: int) -> list[int]:
    """The rows of each client of a training."""
    key = (source.digest, repeat, *(getattr(settings, name) for name in _SPLIT_BY))
    if key not in _sizes_of:
        streams = Streams(settings.seed).child("repeat", repeat)
        train_part = source.split(streams.numpy("split")).train
        sizes = [len(rows) for rows in make_partition(settings)(train_part, streams.numpy("partition"))]
        if len(_sizes_of) >= REMEMBERED:
            del _sizes_of[next(iter(_sizes_of))]
        _sizes_of[key] = sizes
    return _sizes_of[key]


def repeats(source: Source, settings: RowsSettings) -> int:
    """How many federations are trained to have enough clients to attack."""
    clients = settings.client_count
    if settings.partition == "column":
        clients = len(make_partition(settings)(source.table, Streams(settings.seed).numpy("count")))
    return -(-settings.trials // participants(clients, settings.participation))


def _attacked_points(traces: Sequence[Trace], settings: RowsSettings, watched: int) -> dict[str, list[AttackedUpdate]]:
    """The attacked updates of every point: those of the same clients everywhere, drawn if there are too many."""
    traces = [replace(each, points=tuple(p for p in each.points if p.watched == watched)) for each in traces]
    total = sum(len(trace.points[0].observations) for trace in traces)
    drawn = Streams(settings.seed).numpy("chosen clients").permutation(total)[: settings.trials]
    chosen = sorted(int(index) for index in drawn)
    return {name: [_targets(traces, name)[index] for index in chosen] for name in _point_names(traces)}


def _point_names(traces: Sequence[Trace]) -> list[str]:
    """The attack points of all federations. One that shares the round of an earlier one in all of them is left out."""
    rounds: dict[str, list[int]] = {}
    for trace in traces:
        for point in trace.points:
            rounds.setdefault(point.moment.name, []).append(point.moment.round)
    names = list(rounds)
    return [name for place, name in enumerate(names) if rounds[name] not in [rounds[n] for n in names[:place]]]


def _targets(traces: Sequence[Trace], name: str) -> list[AttackedUpdate]:
    return [
        AttackedUpdate(repeat, client, point, observation, truth)
        for repeat, trace in enumerate(traces)
        for point in trace.points
        if point.moment.name == name
        for client, observation, truth in zip(point.clients, point.observations, point.truths, strict=True)
    ]


def _note_costs(found: Found, work: Work, repeat: int, trace: Trace) -> None:
    """What the model is worth at every point, and what a defence promises each client."""
    head = {"dataset": work.source.name, "protocol": work.settings.protocol, "variant": work.variant}
    head |= asdict(work.choice) | {"repeat": repeat}
    size = trace.points[0].observations[0].learner.size
    fewest = min(point.watched for point in trace.points)
    told = [point for point in trace.points if point.watched == fewest]
    moments = [(point.moment.name, point.trained, point.validation, None) for point in told]
    for name, moment, validation, test in (*moments, ("best", trace.best, trace.best_validation, trace.test)):
        found.note(
            "utility",
            Utility(
                **head,
                attack_point=name,
                parameters=size,
                round=moment.round,
                exposure=Exposure.model_validate(moment.exposure),
                validation=_without_nan(validation),
                test=None if test is None else _without_nan(test),
            ),
        )
    for client, promise in enumerate(trace.privacy):
        # An epsilon that is infinite, which is no promise, is null.
        epsilon = promise.epsilon if np.isfinite(promise.epsilon) else None
        found.note(
            "privacy",
            Promise(**head, client=client, rounds=trace.rounds, **(asdict(promise) | {"epsilon": epsilon})),
        )


def _without_nan(scores: Mapping[str, float]) -> dict[str, float | None]:
    return {name: (value if np.isfinite(value) else None) for name, value in scores.items()}
