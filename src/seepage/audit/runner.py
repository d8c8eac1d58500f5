"""Runs one choice of an audit: federations are trained, their updates attacked, the claims measured."""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import torch

from seepage._core import Outcome, Progress, SeepageError, Streams, silent
from seepage.attacks import Attack
from seepage.audit.cafe import check_vertical, run_vertical_choice
from seepage.audit.catalogue import make_attack, make_defense
from seepage.audit.findings import Choice, Findings, Sink
from seepage.audit.parts import cannot_build, make_parts
from seepage.audit.settings import Settings
from seepage.audit.source import Source
from seepage.data import Table
from seepage.federation import AttackPoint, Trace, Truth, make_population, simulate
from seepage.metrics import Evaluator, Reference, aligned
from seepage.observation import Claim, Exchange, Knowledge, Observation
from seepage.results import Cell, Record


@dataclass(frozen=True)
class Target:
    """One attacked update with where it came from. Only the runner holds both sides."""

    repeat: int
    client: int
    point: AttackPoint
    observation: Observation
    truth: Truth


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
    for name in _point_names(traces):
        targets = [_targets(traces, name)[index] for index in chosen]
        for attack_name, attack in attacks.items():
            cell = Cell(
                dataset=source.name,
                protocol=settings.protocol,
                model=choice.model,
                batch_size=choice.batch_size,
                attack_point=name,
                attack=attack_name,
                defense=choice.defense,
                variant=variant,
            )
            findings.cells.append(cell)
            if sink.has(cell):
                continue
            label = _labelled(progress, f"{said}, {name}, {attack_name}")
            records, pairs = attack_cell(cell, attack, targets, evaluators, settings.knowledge, settings, label)
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
    # Variants of one plan share the attacker's randomness, as they share clients: what differs is the setting.
    streams = Streams(settings.seed).child("attack", replace(cell, variant="").id)
    began = time.perf_counter()
    claims = claims_of(attack, [target.observation for target in targets], streams, progress)
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
                note=claim.note,
                values=values,
            )
        )
    if settings.reveal:
        pairs = _row_pairs(cell, targets[0], claims[0], knowledge)
    return records, pairs


def claims_of(attack: Attack, observations: Sequence[Observation], streams: Streams, progress: Progress) -> list[Claim]:
    """One claim per observation. Those with equal shapes are attacked together; clients of unequal size are not."""
    groups: dict[Exchange, list[int]] = {}
    for index, observation in enumerate(observations):
        groups.setdefault(observation.exchange, []).append(index)
    claims: dict[int, Claim] = {}
    for number, group in enumerate(groups.values()):
        members = [observations[index] for index in group]
        try:
            found = attack(members, streams.child(number) if number else streams, progress=progress)
        except SeepageError as error:  # the attack says it cannot: counted, never averaged
            found = [Claim(outcome=Outcome.NOT_APPLICABLE, note=str(error)) for _ in members]
        claims |= dict(zip(group, found, strict=True))
    return [claims[index] for index in range(len(observations))]


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
    def report(label: str, done: int, total: int, note: str = "") -> None:
        progress(f"{context}: {label}", done, total, note)

    return report
