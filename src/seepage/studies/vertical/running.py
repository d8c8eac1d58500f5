"""Audits of vertical learning with shared layers: every person's row, recovered from gradients of batches (CAFE)."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from seepage._core import InputError, Outcome, Progress, Streams, silent
from seepage.attacks.vertical.cafe import Cafe, CafeState
from seepage.attacks.vertical.closed_form import ClosedForm, Solver
from seepage.data import Table
from seepage.data.source import Source
from seepage.data.split import stratified_order
from seepage.federation import Truth
from seepage.federation.vertical.indices import RemappedIds
from seepage.federation.vertical.losses import training_losses
from seepage.federation.vertical.shared import SharedLayers
from seepage.metrics import Evaluator, Reference, psnr
from seepage.models import Learner, Parameters
from seepage.observation import Claim, Space
from seepage.observation.vertical import Recovery, VerticalScene
from seepage.plans.registry import VerticalDefense, make_vertical_attack, make_vertical_defense
from seepage.results import ATTACK, WHOLE, Cell, Measure, Record
from seepage.studies.findings import Choice, Findings, Sink
from seepage.studies.parts import make_parts
from seepage.studies.rows.settings import Settings

SHOWN = 15  # people whose rows are revealed, if that is asked for
EXTRA = 1.1  # batches for each person: as many as there are people determine them, a few more make it well-conditioned
POINTS = 10  # of a curve of training losses


def run_vertical_choice(
    source: Source, settings: Settings, choice: Choice, sink: Sink, *, variant: str = "", progress: Progress = silent
) -> Findings:
    """One choice: one stream of batches feeds all attacks at once."""
    findings = Findings()
    records: dict[Cell, list[Record]] = {}
    revealed: dict[Cell, list[dict[str, Any]]] = {}
    for repeat in range(settings.recoveries):
        for record, pairs in _recover(source, settings, choice, variant, repeat, findings, progress):
            records.setdefault(record.cell, []).append(record)
            revealed.setdefault(record.cell, []).extend(pairs)
    for cell, found in records.items():
        findings.cells.append(cell)
        sink.add(found, revealed[cell])
    return findings


def batches_seen(settings: Settings) -> int:
    """How many batches the server sees."""
    return settings.batches or round(EXTRA * settings.people)


@dataclass(frozen=True, eq=False)
class _Workers:
    """Everyone's rows, and what the workers do with them."""

    truth: Truth
    x: Tensor
    y: Tensor
    learner: Learner
    defense: VerticalDefense
    streams: Streams
    batch_size: int
    batches: int

    @classmethod
    def make(cls, source: Source, settings: Settings, choice: Choice, repeat: int) -> _Workers:
        streams = Streams(settings.seed).child("vertical", repeat)
        people = drawn(source.table, settings.people, streams.numpy("people"))
        encoder, learner = make_parts(source, settings, choice.model, seed=streams.integer("parameters"))
        statistics = encoder.statistics(people)
        return cls(
            truth=Truth(rows=people, encoder=encoder, statistics=statistics, client_rows=people),
            x=torch.from_numpy(encoder.encode(people, statistics)),
            y=torch.from_numpy(people.target),
            learner=learner,
            defense=make_vertical_defense(choice.defense, learner),
            streams=streams,
            batch_size=choice.batch_size,
            batches=batches_seen(settings),
        )

    @property
    def every(self) -> int:
        """Batches between two points of a curve."""
        return max(1, self.batches // POINTS)

    def loss(self, parameters: Parameters) -> float:
        return float(self.learner.loss(parameters, self.x, self.y))

    def losses(self, rate: float) -> list[tuple[int, float]]:
        """The loss while the model trains with what the workers send."""
        return training_losses(
            SharedLayers(batch_size=self.batch_size, rate=rate),
            self.learner,
            self.x,
            self.y,
            self.batches,
            self.streams,
            gradients=self.defense.gradients,
            defend=self.defense.defend,
            every=self.every,
        )

    def show(
        self, protocol: SharedLayers, states: Mapping[str, Solver | CafeState], progress: Progress
    ) -> tuple[dict[str, float], list[tuple[int, float]]]:
        """Let attacks see all batches: the seconds that each took, and the loss while the model trained."""
        seconds = dict.fromkeys(states, 0.0)
        points = [(0, self.loss(self.learner.initial()))]

        def watch(number: int, parameters: Parameters) -> None:
            if protocol.rate and (number % self.every == 0 or number == self.batches):
                points.append((number, self.loss(parameters)))

        defense = self.defense
        updates = protocol.stream(
            self.learner,
            self.x,
            self.y,
            self.batches,
            self.streams,
            gradients=defense.gradients,
            defend=defense.defend,
            watch=watch,
        )
        if defense.ids is not None:
            updates = defense.ids(updates, len(self.x), torch.Generator().manual_seed(self.streams.integer("ids")))
        for number, update in enumerate(updates, start=1):
            for name, state in states.items():
                begin = time.perf_counter()
                state.see(update)
                seconds[name] += time.perf_counter() - begin
            if number % 20 == 0 or number == self.batches:
                progress(f"batches of {self.batch_size}", number, self.batches)
        return seconds, points


def _recover(
    source: Source,
    settings: Settings,
    choice: Choice,
    variant: str,
    repeat: int,
    findings: Findings,
    progress: Progress,
) -> Iterator[tuple[Record, list[dict[str, Any]]]]:
    """What each attack read, and rows to show if that is asked for."""
    workers = _Workers.make(source, settings, choice, repeat)
    training = bool(settings.exposure)
    attacks = {name: make_vertical_attack(name, settings.attack_options) for name in settings.attacks}
    protocol = SharedLayers(
        batch_size=choice.batch_size,
        rate=settings.learning_rate if training else 0.0,
        moments=any(isinstance(attack, Cafe) and attack.norms > 0 for attack in attacks.values()),
    )
    scene = VerticalScene(
        learner=workers.learner,
        rows=len(workers.x),
        batch_size=choice.batch_size,
        space=Space(layout=workers.truth.encoder.layout),
        fixed=not training,
    )
    states = {name: _start(attack, scene, workers.streams.child(name)) for name, attack in attacks.items()}
    seconds, points = workers.show(protocol, states, progress)
    if not training and settings.defended and repeat == 0:  # the weights were fixed: the price is measured beside
        progress("training loss", 0, 1)
        points = workers.losses(settings.learning_rate)
    _note_costs(findings, source, settings, choice, variant, repeat, workers, points)
    for name, state in states.items():
        begin = time.perf_counter()
        recovery = state.recover()
        seconds[name] += time.perf_counter() - begin
        cell = Cell(
            dataset=source.name,
            protocol=settings.protocol,
            model=choice.model,
            batch_size=choice.batch_size,
            attack_point="while training" if training else "initialized",
            attack=name,
            defense=choice.defense,
            variant=variant,
        )
        record = _record(cell, repeat, recovery, workers, settings, seconds[name])
        yield record, _pairs(cell, recovery, workers.truth) if settings.reveal and repeat == 0 else []


def _note_costs(
    findings: Findings,
    source: Source,
    settings: Settings,
    choice: Choice,
    variant: str,
    repeat: int,
    workers: _Workers,
    points: Sequence[tuple[int, float]],
) -> None:
    """How well the model trained."""
    head = {"dataset": source.name, "protocol": settings.protocol} | asdict(choice) | {"variant": variant}
    count = workers.batches
    if settings.exposure:
        findings.utility.append(
            head
            | {"repeat": repeat, "parameters": workers.learner.size, "attack_point": "while training", "round": count}
            | {"exposure": dict.fromkeys(("min", "mean", "max"), count * choice.batch_size / len(workers.x))}
            | {"validation": {"loss": points[-1][1]}}
        )
    if len(points) > 1 and repeat == 0:
        findings.losses.append(
            head | {"learning_rate": settings.learning_rate, "points": [list(each) for each in points]}
        )


def drawn(table: Table, count: int, generator: np.random.Generator) -> Table:
    """So many people, with the classes in proportion."""
    if count > len(table):
        raise InputError(f"There are {count} people asked for; the table has {len(table)} rows.")
    return table.take(np.sort(stratified_order(table, generator)[:count]))


def _start(attack: ClosedForm | Cafe, scene: VerticalScene, streams: Streams) -> Solver | CafeState:
    return attack.start(scene) if isinstance(attack, ClosedForm) else CafeState(attack, scene, streams)


def _record(
    cell: Cell, repeat: int, recovery: Recovery, workers: _Workers, settings: Settings, seconds: float
) -> Record:
    """What was read of a recovery. Where people are renumbered, rows are matched to the nearest person's."""
    told, x = recovery.determined.numpy(), workers.x.numpy()
    numbered = not isinstance(workers.defense.ids, RemappedIds)
    values: dict[Measure, float] = {}
    outcome = Outcome.OK if told.all() else Outcome.BUDGET_SPENT
    if recovery.inputs.shape[1] == x.shape[1] and told.any():
        # A row that is not determined is claimed as the average row; the attacker knows nothing better of it.
        rows = np.where(told[:, None], recovery.inputs.numpy(), 0.0)
        claim = Claim(outcome=outcome, rows=rows, ordered=numbered, note=recovery.note)
        evaluator = Evaluator(whole=Reference.of(workers.truth.rows), deviation=settings.deviation, draws=2)
        values = evaluator(claim, workers.truth, settings.knowledge, workers.streams.numpy("baselines"))
        if numbered:
            values[Measure(ATTACK, WHOLE, "psnr")] = psnr(rows[told], x[told])
        values[Measure(ATTACK, WHOLE, "determined")] = float(told.mean())
    else:
        outcome = Outcome.NOT_APPLICABLE
    return Record(
        cell=cell,
        repeat=repeat,
        client=0,
        round=workers.batches,
        exposure=workers.batches * cell.batch_size / len(x) if cell.attack_point == "while training" else 0.0,
        rows=len(x),
        outcome=outcome.code,
        seconds=seconds,
        note=recovery.note,
        values=values,
    )


def _pairs(cell: Cell, recovery: Recovery, truth: Truth) -> list[dict[str, Any]]:
    """Some people's rows beside what was read under their number. Only with ``--reveal``."""
    people, encoder = truth.rows, truth.encoder
    if recovery.inputs.shape[1] != encoder.layout.width:
        return []
    some = np.unique(np.linspace(0, len(people) - 1, SHOWN).astype(int))
    numbers, codes = encoder.decode(np.nan_to_num(recovery.inputs.numpy()[some]), truth.statistics)
    schema, shown = people.schema, people.take(some)
    claimed = Table(schema, np.round(numbers, 2), codes, shown.target).to_frame().drop(schema.target.name)
    true = shown.to_frame().drop(schema.target.name)
    return [
        {"cell": cell.id, "client": 0, "truth": t, "reconstruction": c}
        for t, c in zip(true.iter_rows(named=True), claimed.iter_rows(named=True), strict=True)
    ]


def check_vertical(source: Source, settings: Settings, choice: Choice) -> None:
    """Stop with a sentence, before any work, if a choice cannot be run."""
    drawn(source.table, settings.people, np.random.default_rng(0))
    for name in settings.attacks:
        make_vertical_attack(name, settings.attack_options)
    _, learner = make_parts(source, settings, choice.model, seed=0)
    make_vertical_defense(choice.defense, learner)
    if not 1 <= choice.batch_size < settings.people:
        raise InputError(
            f"A batch has {choice.batch_size} of {settings.people} people: all batches are the same, so rows cannot be "
            "separated; batches must be smaller than the data."
        )
