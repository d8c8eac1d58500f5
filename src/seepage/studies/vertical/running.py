"""Runs one choice of the study of vertical gradients: one stream of batches feeds all attacks at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace

import numpy as np
from pydantic import JsonValue

from seepage.data import Table
from seepage.federation import Truth
from seepage.metrics import Evaluator, Reference, psnr, psnr_of_tiles
from seepage.models import Parameters
from seepage.observation import Claim, Knowledge
from seepage.observation.vertical import VerticalScene
from seepage.plans import registry
from seepage.results import ALL_COLUMNS, ATTACK, Measure, Record, VerticalCell
from seepage.results.vertical import CURVE, Losses, on_curve
from seepage.studies.study import Found, Work
from seepage.studies.vertical.settings import VerticalSettings
from seepage.studies.vertical.watching import Watcher
from seepage.studies.vertical.workers import VerticalChoice, Workers, make_protocol, make_scene

SHOWN = 15  # people whose rows are revealed, if that is asked for


def run_choice(work: Work) -> Found:
    """Recover everyone's rows, trial after trial; a finished cell is stored when all its trials are there."""
    settings, choice = work.settings, work.choice
    found = Found()
    cells = {name: _cell(work, name) for name in settings.attacks}
    found.cells = [(cell, "") for cell in cells.values()]
    missing = {name: cell for name, cell in cells.items() if not work.sink.has(cell)}
    records: dict[str, list[Record]] = {name: [] for name in missing}
    revealed: dict[str, list[dict[str, JsonValue]]] = {name: [] for name in missing}
    for repeat in range(settings.trials if missing else 1):
        workers = Workers.make(work.source, settings, choice, repeat)
        attacks = {name: registry.make("attack", name, "vertical", settings.attack_options) for name in cells}
        scene = make_scene(workers, settings, attacks.values())  # the same for those that are stored already
        if found.threat_model is None:
            found.threat_model = workers.defense.amend(scene.describe())
        watchers = {
            name: Watcher(attack, scene, workers.streams.child(name))
            for name, attack in attacks.items()
            if name in missing
        }
        points = show_batches(work, workers, scene, watchers) if watchers or settings.moving else []
        if repeat == 0:
            _note_losses(found, work, workers, points)
        for name, watcher in watchers.items():
            claim = watcher.claim()
            records[name].append(_record(cells[name], repeat, claim, workers, settings, watcher))
            if settings.reveal and repeat == 0:
                revealed[name] = _pairs(cells[name], claim, workers.truth)
    for name in missing:
        work.sink.add(records[name], revealed[name])
    return found


def show_batches(
    work: Work, workers: Workers, scene: VerticalScene, watchers: Mapping[str, Watcher]
) -> list[tuple[int, float]]:
    """Let attacks see all batches; returns the loss on the way, if the model trained."""
    settings: VerticalSettings = work.settings
    points = [(0, workers.loss(workers.learner.initial()))]

    def look(number: int, parameters: Parameters) -> None:
        if settings.moving:
            points.append((number, workers.loss(parameters)))
        if settings.watch:
            _look(number, parameters, workers, watchers)

    protocol = make_protocol(settings, workers.batch_size, trains=settings.moving, moments=scene.moments)
    for number, update in workers.stream(protocol, look):
        for watcher in watchers.values():
            watcher.see(update)
        if number % 20 == 0 or number == workers.batches:
            work.progress(f"batches of {workers.batch_size}", number, workers.batches)
    return points


def _look(number: int, parameters: Parameters, workers: Workers, watchers: Mapping[str, Watcher]) -> None:
    """Measure what every attack has read by now, and how far the model is."""
    loss, accuracy = workers.loss(parameters), workers.test_accuracy(parameters)
    for watcher in watchers.values():
        watcher.curve[on_curve(number, "train_loss")] = loss
        if accuracy is not None:
            watcher.curve[on_curve(number, "test_accuracy")] = accuracy
        likeness = _likeness(watcher.so_far(), workers)
        watcher.curve |= {on_curve(number, name): likeness[name] for name in likeness if name in CURVE}


def _likeness(claim: Claim, workers: Workers) -> dict[str, float]:
    """PSNR of the rows that are claimed, and their correlation with the true ones; nothing where it cannot be said."""
    if claim.rows is None or claim.determined is None or not claim.ordered or workers.defense.renumbers:
        return {}
    told = claim.determined
    read, true = claim.rows[told], workers.x.numpy()[told]
    # Numbers in other units are still the rows: a server that knows their range scales them back.
    varied = min(float(read.std()), float(true.std())) > 0
    correlation = float(np.corrcoef(read.ravel(), true.ravel())[0, 1]) if varied else 0.0
    found = {"psnr": psnr(read, true), "correlation": correlation}
    return found | ({"psnr_tiles": psnr_of_tiles(read, true, workers.tiles)} if workers.tiles else {})


def _cell(work: Work, attack: str) -> VerticalCell:
    return cell_of(work.source.name, work.settings, work.choice, attack, work.variant)


def cell_of(table: str, settings: VerticalSettings, choice: VerticalChoice, attack: str, variant: str) -> VerticalCell:
    """The coordinates of what one attack reads."""
    return VerticalCell(
        dataset=table,
        people=settings.people,
        batches=settings.batches_seen,
        attack_point="while training" if settings.moving else "initialized",
        attack=attack,
        variant=variant,
        **asdict(choice),
    )


def _note_losses(found: Found, work: Work, workers: Workers, points: list[tuple[int, float]]) -> None:
    """How well the model trained, or would train where the weights are fixed and a defence has its price."""
    settings = work.settings
    if not settings.moving and settings.defended:
        points = workers.losses(make_protocol(settings, workers.batch_size, trains=True), work.progress)
    if len(points) > 1:
        found.note(
            "losses",
            Losses(
                dataset=work.source.name,
                variant=work.variant,
                people=settings.people,
                learning_rate=settings.learning_rate,
                points=tuple(points),
                **asdict(work.choice),
            ),
        )


def _record(
    cell: VerticalCell, repeat: int, claim: Claim, workers: Workers, settings: VerticalSettings, watcher: Watcher
) -> Record:
    """What was read. Where people are renumbered, rows are matched to the nearest person's."""
    values: dict[Measure, float] = {}
    if claim.rows is not None and claim.determined is not None:
        renumbered = workers.defense.renumbers
        own = replace(claim, ordered=False) if renumbered else claim
        evaluator = Evaluator(training=Reference.of(workers.truth.rows), draws=2)
        values = evaluator(own, workers.truth, Knowledge(labels=False), workers.streams.numpy("baselines"))
        values |= {Measure(ATTACK, ALL_COLUMNS, name): value for name, value in _likeness(claim, workers).items()}
        values[Measure(ATTACK, ALL_COLUMNS, "determined")] = float(claim.determined.mean())
        values |= watcher.curve
    people = len(workers.x)
    return Record(
        cell=cell,
        repeat=repeat,
        round=workers.batches,
        exposure=workers.batches * cell.batch_size / people if settings.moving else 0.0,
        rows=people,
        outcome=claim.outcome.code,
        seconds=watcher.seconds,
        note=claim.note,
        values=values,
    )


def _pairs(cell: VerticalCell, claim: Claim, truth: Truth) -> list[dict[str, JsonValue]]:
    """Some people's rows beside what was read under their number. Only with ``--reveal``."""
    if claim.rows is None:
        return []
    people, encoder = truth.rows, truth.encoder
    some = np.unique(np.linspace(0, len(people) - 1, SHOWN).astype(int))
    numbers, codes = encoder.decode(np.nan_to_num(claim.rows[some]), truth.statistics)
    schema, shown = people.schema, people.take(some)
    claimed = Table(schema, np.round(numbers, 2), codes, shown.target).to_frame().drop(schema.target.name)
    true = shown.to_frame().drop(schema.target.name)
    return [
        {"cell": cell.id, "client": 0, "truth": t, "reconstruction": c}
        for t, c in zip(true.iter_rows(named=True), claimed.iter_rows(named=True), strict=True)
    ]
