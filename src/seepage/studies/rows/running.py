"""Runs one choice of an audit: federations are trained, their updates attacked, the claims measured."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import torch

from seepage._core import Progress, Streams, silent
from seepage.data.source import Source
from seepage.federation import Trace, make_population, simulate
from seepage.metrics import Evaluator, Reference
from seepage.plans.registry import make_attack, make_defense
from seepage.results import Cell
from seepage.studies.findings import Choice, Findings, Sink
from seepage.studies.parts import cannot_build, make_parts
from seepage.studies.rows.attacking import Target, attack_cells, joined
from seepage.studies.rows.settings import Settings
from seepage.studies.vertical.running import check_vertical, run_vertical_choice


def run_choice(
    source: Source,
    settings: Settings,
    choice: Choice,
    sink: Sink,
    *,
    variant: str = "",
    progress: Progress = silent,
) -> Findings:
    """Train the federations of one choice, and attack them at every point by every attack.

    Finished cells go to the sink as they come; the findings hold everything else.
    """
    if settings.protocol == "vertical":
        return run_vertical_choice(source, settings, choice, sink, variant=variant, progress=progress)
    attacks = {name: make_attack(name, settings.attack_options) for name in settings.attacks}
    findings = Findings()
    said = _said(choice, settings)
    traces, evaluators = [], []
    for repeat in range(_repeats(source, settings)):
        streams = Streams(settings.seed).child("repeat", repeat)
        trace, whole = _train(source, settings, choice, streams, _labelled(progress, said))
        traces.append(trace)
        evaluators.append(Evaluator(whole=whole, deviation=settings.deviation))
        head = {"dataset": source.name, "protocol": settings.protocol} | asdict(choice) | {"variant": variant}
        findings.utility += _utility(head, repeat, trace)
        findings.privacy += _privacy(head, repeat, trace)
    chosen = _chosen(traces, settings)
    points = {name: [_targets(traces, name)[index] for index in chosen] for name in _point_names(traces)}
    cells = {
        (name, attack): Cell(
            dataset=source.name,
            protocol=settings.protocol,
            model=choice.model,
            batch_size=choice.batch_size,
            attack_point=name,
            attack=attack,
            defense=choice.defense,
            variant=variant,
        )
        for name in points
        for attack in attacks
    }
    findings.cells += cells.values()
    for attack_name, attack in attacks.items():
        for together in joined(points, attack):
            targets = {cells[name, attack_name]: points[name] for name in together}
            stored = {cell: sink.has(cell) for cell in targets}
            if all(stored.values()):
                continue
            where = together[0] if len(together) == 1 else f"{len(together)} attack points"
            label = _labelled(progress, f"{said}, {where}, {attack_name}")
            # All of them, also those that are stored: how updates are grouped changes the last digits.
            for cell, (records, pairs) in attack_cells(targets, attack, evaluators, settings, label).items():
                if not stored[cell]:
                    sink.add(records, pairs)
    return findings


def choices_of(settings: Settings) -> list[Choice]:
    """Every combination of model, defence and batch size."""
    combinations = itertools.product(settings.models, settings.defenses, settings.batch_sizes)
    return [Choice(*combination) for combination in combinations]


def _said(choice: Choice, settings: Settings) -> str:
    """The choice in a progress bar: what there is only one of is not said."""
    parts = [choice.model] if len(settings.models) > 1 else []
    parts += [choice.defense] if len(settings.defenses) > 1 else []
    return ", ".join([*parts, f"batch {choice.batch_size}"])


def check_choice(source: Source, settings: Settings, choice: Choice) -> None:
    """Stop with a sentence, before any work and before anything is written, if this cannot be run."""
    _check_model(source, settings, choice.model)
    if settings.protocol == "vertical":
        check_vertical(source, settings, choice)
        return
    make_defense(choice.defense)
    for name in settings.attacks:
        make_attack(name, settings.attack_options)
    rounds_of(source, settings, choice)


def rounds_of(source: Source, settings: Settings, choice: Choice) -> list[int]:
    """The rounds of each training; a sentence if its clients or its attack points cannot be."""
    protocol = settings.make_protocol(choice.batch_size)
    found = []
    for repeat in range(_repeats(source, settings)):
        streams = Streams(settings.seed).child("repeat", repeat)
        train_part = source.split(streams.numpy("split")).train
        sizes = [len(rows) for rows in settings.make_partition()(train_part, streams.numpy("partition"))]
        clock = protocol.clock(sizes)
        rounds = clock.rounds_until(protocol.exposure)
        protocol.schedule.rounds(clock, rounds)
        found.append(rounds)
    return found


def _check_model(source: Source, settings: Settings, model: str) -> None:
    """Build the model once and try it on a row: options that cannot be are told now."""
    encoder, learner = make_parts(source, settings, model, seed=0)
    row = torch.zeros(2, encoder.layout.width)
    try:
        learner.gradient(learner.initial(), row, torch.zeros(2))
    except (ValueError, RuntimeError, ZeroDivisionError) as error:
        raise cannot_build(model, settings, error) from None


def train(
    source: Source, settings: Settings, batch_size: int, streams: Streams, progress: Progress
) -> tuple[Trace, Reference]:
    """One federation with the first model and defence of the settings."""
    choice = Choice(settings.models[0], settings.defenses[0], batch_size)
    return _train(source, settings, choice, streams, progress)


def _train(
    source: Source, settings: Settings, choice: Choice, streams: Streams, progress: Progress
) -> tuple[Trace, Reference]:
    """One federation, from the split of the rows to the trace; and the marginals of its training part."""
    splits = source.split(streams.numpy("split"))
    encoder, learner = make_parts(source, settings, choice.model, seed=streams.integer("parameters"))
    population = make_population(
        splits,
        settings.make_partition(),
        encoder,
        learner,
        streams.numpy("partition"),
        local_statistics=settings.local_statistics,
    )
    trace = simulate(
        settings.make_protocol(choice.batch_size),
        population,
        settings.knowledge,
        streams,
        defense=make_defense(choice.defense),
        progress=progress,
    )
    return trace, Reference.of(splits.train)


def _point_names(traces: Sequence[Trace]) -> list[str]:
    """The attack points of all federations. One that shares the round of an earlier one in all of them is left out."""
    rounds: dict[str, list[int]] = {}
    for trace in traces:
        for point in trace.points:
            rounds.setdefault(point.moment.name, []).append(point.moment.round)
    names = list(rounds)
    return [name for place, name in enumerate(names) if rounds[name] not in [rounds[n] for n in names[:place]]]


def _chosen(traces: Sequence[Trace], settings: Settings) -> list[int]:
    """Which clients are attacked, over all federations: the same at every point, drawn if there are too many."""
    total = sum(len(trace.points[0].observations) for trace in traces)
    drawn = Streams(settings.seed).numpy("chosen clients").permutation(total)[: settings.trials]
    return sorted(int(index) for index in drawn)


def _repeats(source: Source, settings: Settings) -> int:
    """How many federations are trained to have enough clients to attack."""
    clients = settings.client_count
    if settings.partition == "column":
        clients = len(settings.make_partition()(source.table, Streams(settings.seed).numpy("count")))
    return -(-settings.trials // clients)


def _targets(traces: Sequence[Trace], name: str) -> list[Target]:
    return [
        Target(repeat, client, point, point.observations[client], point.truths[client])
        for repeat, trace in enumerate(traces)
        for point in trace.points
        if point.moment.name == name
        for client in range(len(point.observations))
    ]


def _utility(head: dict[str, Any], repeat: int, trace: Trace) -> list[dict[str, Any]]:
    size = trace.points[0].observations[0].learner.size
    head = head | {"repeat": repeat, "parameters": size}
    entries = [
        head
        | {
            "attack_point": point.moment.name,
            "round": point.trained.round,
            "exposure": point.trained.exposure,
            "validation": _without_nan(point.validation),
        }
        for point in trace.points
    ]
    best = {
        "attack_point": "best",
        "round": trace.best.round,
        "exposure": trace.best.exposure,
        "validation": _without_nan(trace.best_validation),
        "test": _without_nan(trace.test),
    }
    return [*entries, head | best]


def _privacy(head: dict[str, Any], repeat: int, trace: Trace) -> list[dict[str, Any]]:
    """What a defence promises each client; an epsilon that is infinite, which is no promise, is null."""
    return [
        head
        | {"repeat": repeat, "client": client, "rounds": trace.rounds}
        | asdict(promise)
        | {"epsilon": promise.epsilon if np.isfinite(promise.epsilon) else None}
        for client, promise in enumerate(trace.privacy)
    ]


def _without_nan(scores: Any) -> dict[str, float | None]:
    return {name: (value if np.isfinite(value) else None) for name, value in scores.items()}


def _labelled(progress: Progress, context: str) -> Progress:
    def report(label: str, done: int, total: int, note: str = "") -> None:
        progress(f"{context}: {label}", done, total, note)

    return report
