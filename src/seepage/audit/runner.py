"""Runs an audit: federations are trained, their updates attacked, the claims measured, the numbers kept."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from seepage._core import Outcome, Progress, SeepageError, Streams, silent
from seepage.attacks import Attack
from seepage.audit.catalogue import make_attack, make_model
from seepage.audit.settings import Settings
from seepage.audit.source import Source
from seepage.data import Encoder, Table
from seepage.federation import AttackPoint, Trace, Truth, make_population, simulate
from seepage.metrics import Evaluator, Reference, aligned
from seepage.models import make_learner
from seepage.observation import Claim, Knowledge, Observation
from seepage.results import Cell, Record, Run


@dataclass
class Findings:
    """What a run has found so far."""

    records: list[Record] = field(default_factory=list)
    utility: list[dict[str, Any]] = field(default_factory=list)
    revealed: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class Target:
    """One attacked update with where it came from. Only the runner holds both sides."""

    repeat: int
    client: int
    point: AttackPoint
    observation: Observation
    truth: Truth


def run_audit(source: Source, settings: Settings, *, run: Run | None = None, progress: Progress = silent) -> Findings:
    """Every cell of an audit; finished cells are stored in ``run`` as they come."""
    attacks = {name: make_attack(name, settings.attack_options) for name in settings.attacks}
    knowledge = settings.knowledge
    findings = Findings()
    for batch_size in settings.batch_sizes:
        traces, evaluators = [], []
        for repeat in range(_repeats(source, settings)):
            streams = Streams(settings.seed).child("repeat", repeat)
            trace, whole = train(source, settings, batch_size, streams, _labelled(progress, f"batch {batch_size}"))
            traces.append(trace)
            evaluators.append(Evaluator(whole=whole, deviation=settings.deviation))
            findings.utility += _utility(settings, batch_size, repeat, trace)
        for name in [point.moment.name for point in traces[0].points]:
            targets = _targets(traces, name)[: settings.trials]
            for attack_name, attack in attacks.items():
                cell = Cell(
                    dataset=source.name,
                    protocol=settings.protocol,
                    model=settings.model,
                    batch_size=batch_size,
                    attack_point=name,
                    attack=attack_name,
                )
                label = f"batch {batch_size}, {name}, {attack_name}"
                records, pairs = attack_cell(
                    cell, attack, targets, evaluators, knowledge, settings, _labelled(progress, label)
                )
                findings.records += records
                findings.revealed += pairs
                if run is not None:
                    run.add(records)
    return findings


def check_audit(source: Source, settings: Settings) -> None:
    """Stop with a sentence, before any work and before anything is written, if a cell cannot be run."""
    make_model(settings.model, settings.model_options)
    for name in settings.attacks:
        make_attack(name, settings.attack_options)
    protocols = [settings.make_protocol(batch_size) for batch_size in settings.batch_sizes]
    for repeat in range(_repeats(source, settings)):
        streams = Streams(settings.seed).child("repeat", repeat)
        train_part = source.split(streams.numpy("split")).train
        sizes = [len(rows) for rows in settings.make_partition()(train_part, streams.numpy("partition"))]
        for protocol in protocols:
            clock = protocol.clock(sizes)
            protocol.schedule.rounds(clock, clock.rounds_until(protocol.exposure))


def train(
    source: Source, settings: Settings, batch_size: int, streams: Streams, progress: Progress
) -> tuple[Trace, Reference]:
    """One federation, from the split of the rows to the trace; and the marginals of its training part."""
    table, target = source.table, source.table.schema.target
    splits = source.split(streams.numpy("split"))
    architecture = make_model(settings.model, settings.model_options)
    encoder = Encoder(
        schema=table.schema,
        categories=architecture.encoding,
        numbers=settings.numbers,
        standardise_onehot=settings.standardise_onehot and architecture.encoding == "onehot",
    )
    layout = encoder.layout
    learner = make_learner(
        architecture,
        layout.numeric,
        layout.sizes,
        target.task,
        len(target.classes),
        seed=streams.integer("parameters"),
        positive_weight=settings.positive_weight,
    )
    population = make_population(
        splits,
        settings.make_partition(),
        encoder,
        learner,
        streams.numpy("partition"),
        local_statistics=settings.local_statistics,
    )
    trace = simulate(settings.make_protocol(batch_size), population, settings.knowledge, streams, progress=progress)
    return trace, Reference.of(splits.train)


def attack_cell(
    cell: Cell,
    attack: Attack,
    targets: Sequence[Target],
    evaluators: Sequence[Evaluator],
    knowledge: Knowledge,
    settings: Settings,
    progress: Progress,
) -> tuple[list[Record], list[dict[str, Any]]]:
    """Attack all targets of a cell at once and score every claim; row pairs too if they may be shown."""
    streams = Streams(settings.seed).child("attack", cell.id)
    began = time.perf_counter()
    try:
        claims = attack([target.observation for target in targets], streams, progress=progress)
    except SeepageError as error:  # the attack says it cannot: counted, never averaged
        claims = [Claim(outcome=Outcome.NOT_APPLICABLE, note=str(error)) for _ in targets]
    seconds = (time.perf_counter() - began) / len(targets)
    records, pairs = [], []
    for index, (target, claim) in enumerate(zip(targets, claims, strict=True)):
        generator = streams.numpy("baselines", index)
        values = evaluators[target.repeat](claim, target.truth, knowledge, generator)
        records.append(
            Record(
                cell=cell,
                repeat=target.repeat,
                client=target.client,
                round=target.point.moment.round,
                exposure=target.point.moment.exposures[target.client],
                rows=len(target.truth.rows),
                outcome=claim.outcome.code,
                seconds=seconds,
                values=values,
            )
        )
    if settings.reveal:
        pairs = _row_pairs(cell, targets[0], claims[0], knowledge)
    return records, pairs


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


def _utility(settings: Settings, batch_size: int, repeat: int, trace: Trace) -> list[dict[str, Any]]:
    head = {
        "protocol": settings.protocol,
        "model": settings.model,
        "batch_size": batch_size,
        "repeat": repeat,
    }
    entries = [
        head
        | {
            "attack_point": point.moment.name,
            "round": point.moment.round,
            "exposure": point.moment.exposure,
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


def _without_nan(scores: Any) -> dict[str, float | None]:
    return {name: (value if np.isfinite(value) else None) for name, value in scores.items()}


def _row_pairs(cell: Cell, target: Target, claim: Claim, knowledge: Knowledge) -> list[dict[str, Any]]:
    """True and claimed rows of the first attacked client side by side, matched. Only with ``--reveal``."""
    if claim.rows is None:
        return []
    truth = target.truth
    numbers, codes = aligned(claim, truth, knowledge)
    if not knowledge.ranges:
        numbers = np.round(numbers, 2)
    schema = truth.rows.schema
    claimed = Table(schema, numbers, codes, truth.rows.target).to_frame().drop(schema.target.name)
    true = truth.rows.to_frame().drop(schema.target.name)
    return [
        {"cell": cell.id, "client": target.client, "truth": t, "reconstruction": c}
        for t, c in zip(true.iter_rows(named=True), claimed.iter_rows(named=True), strict=True)
    ]


def _labelled(progress: Progress, context: str) -> Progress:
    def report(label: str, done: int, total: int) -> None:
        progress(f"{context}: {label}", done, total)

    return report
