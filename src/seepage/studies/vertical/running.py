"""Runs one choice of the study of vertical gradients: one stream of batches feeds all attacks at once."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass

import numpy as np
import torch
from pydantic import JsonValue
from torch import Tensor

from seepage._core import InputError, NotApplicable, Outcome, Progress, SeepageError, Streams
from seepage.attacks import Attack, Attacker
from seepage.attacks.vertical.cafe import Cafe
from seepage.data import Encoder, Table
from seepage.data.source import Source
from seepage.data.splitting import stratified_order
from seepage.defenses import Defense
from seepage.federation import Truth
from seepage.federation.vertical.losses import training_losses
from seepage.federation.vertical.shared import SharedLayers
from seepage.metrics import Evaluator, Reference, psnr
from seepage.models import Learner, Parameters
from seepage.observation import Claim, Knowledge, Space
from seepage.observation.vertical import VerticalScene, VerticalUpdate
from seepage.plans import registry
from seepage.results import ATTACK, WHOLE, Measure, Record, VerticalCell
from seepage.results.summary import ThreatModel
from seepage.results.vertical import Losses
from seepage.studies.parts import make_parts
from seepage.studies.study import Found, Work
from seepage.studies.vertical.settings import VerticalSettings

SHOWN = 15  # people whose rows are revealed, if that is asked for
POINTS = 10  # of a curve of training losses


@dataclass(frozen=True)
class VerticalChoice:
    """What one stream of batches is made with."""

    model: str
    defense: str
    batch_size: int

    @property
    def label(self) -> str:
        parts = [self.model, f"batches of {self.batch_size}", self.defense]
        return ", ".join(part for part in parts if part != "none")


@dataclass(frozen=True, eq=False)
class Workers:
    """Everyone's rows, and what the workers do with them."""

    truth: Truth
    x: Tensor
    y: Tensor
    learner: Learner
    defense: Defense
    streams: Streams
    batch_size: int
    batches: int

    @classmethod
    def make(cls, source: Source, settings: VerticalSettings, choice: VerticalChoice, repeat: int) -> Workers:
        """Draw the people of one trial, and the first weights."""
        streams = Streams(settings.seed).child("vertical", repeat)
        people = drawn(source.table, settings.people, streams.numpy("people"))
        encoder, learner = model_of(source, settings, choice.model, streams.integer("parameters"))
        statistics = encoder.statistics(people)
        return cls(
            truth=Truth(rows=people, encoder=encoder, statistics=statistics, client_rows=people),
            x=torch.from_numpy(encoder.encode(people, statistics)),
            y=torch.from_numpy(people.target),
            learner=learner,
            defense=registry.make("defence", choice.defense, "vertical"),
            streams=streams,
            batch_size=choice.batch_size,
            batches=settings.batches_seen,
        )

    @property
    def every(self) -> int:
        """Batches between two points of a curve."""
        return max(1, self.batches // POINTS)

    def loss(self, parameters: Parameters) -> float:
        return float(self.learner.loss(parameters, self.x, self.y))

    def losses(self, protocol: SharedLayers) -> list[tuple[int, float]]:
        """The loss while the model trains with what the workers send."""
        return training_losses(
            protocol,
            self.learner,
            self.x,
            self.y,
            self.batches,
            self.streams,
            defense=self.defense,
            every=self.every,
        )

    def show(
        self, protocol: SharedLayers, watchers: Mapping[str, Watcher], progress: Progress
    ) -> list[tuple[int, float]]:
        """Let attacks see all batches; returns the loss while the model trained."""
        points = [(0, self.loss(self.learner.initial()))]

        def watch(number: int, parameters: Parameters) -> None:
            if protocol.rate and (number % self.every == 0 or number == self.batches):
                points.append((number, self.loss(parameters)))

        updates = protocol.stream(
            self.learner, self.x, self.y, self.batches, self.streams, defense=self.defense, watch=watch
        )
        for number, update in enumerate(updates, start=1):
            for watcher in watchers.values():
                watcher.see(update)
            if number % 20 == 0 or number == self.batches:
                progress(f"batches of {self.batch_size}", number, self.batches)
        return points


class Watcher:
    """An attack on the stream, with the seconds it took and how it ended. One that fails does not stop the others."""

    def __init__(self, attack: Attack[VerticalScene, VerticalUpdate], scene: VerticalScene, streams: Streams) -> None:
        self.seconds = 0.0
        self._claim: Claim | None = None
        self._attacker: Attacker[VerticalUpdate] | None = None
        with _Told(self):
            self._attacker = attack.start(scene, streams)

    def see(self, update: VerticalUpdate) -> None:
        with _Told(self):
            if self._attacker is not None and self._claim is None:
                self._attacker.see(update)

    def claim(self) -> Claim:
        """What it read."""
        with _Told(self):
            if self._attacker is not None and self._claim is None:
                (self._claim,) = self._attacker.claims()
        assert self._claim is not None
        return self._claim

    def end(self, outcome: Outcome, note: str) -> None:
        """It cannot go on."""
        self._claim = Claim(outcome=outcome, note=note)


class _Told:
    """Times a watcher, and turns what it raises into an outcome."""

    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher

    def __enter__(self) -> None:
        self._begin = time.perf_counter()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> bool:
        self._watcher.seconds += time.perf_counter() - self._begin
        if isinstance(error, NotApplicable):
            self._watcher.end(Outcome.NOT_APPLICABLE, str(error))
        elif isinstance(error, SeepageError):
            self._watcher.end(Outcome.FAILED, str(error))
        return isinstance(error, SeepageError)


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
        attacks = {name: registry.make("attack", name, "vertical", settings.attack_options) for name in missing}
        scene = make_scene(workers, settings, attacks.values())
        if found.threat_model is None:
            found.threat_model = threat_model(scene, choice.defense)
        protocol = make_protocol(settings, choice, moments=scene.moments)
        watchers = {name: Watcher(attack, scene, workers.streams.child(name)) for name, attack in attacks.items()}
        points = workers.show(protocol, watchers, work.progress) if watchers or settings.moving else []
        if repeat == 0:
            _note_losses(found, work, workers, points)
        for name, watcher in watchers.items():
            claim = watcher.claim()
            records[name].append(_record(cells[name], repeat, claim, workers, settings, watcher.seconds))
            if settings.reveal and repeat == 0:
                revealed[name] = _pairs(cells[name], claim, workers.truth)
    for name in missing:
        work.sink.add(records[name], revealed[name])
    return found


def make_protocol(settings: VerticalSettings, choice: VerticalChoice, *, moments: bool = False) -> SharedLayers:
    """The protocol of one choice."""
    return SharedLayers(
        batch_size=choice.batch_size,
        rate=settings.learning_rate if settings.moving else 0.0,
        adam=settings.optimiser == "adam",
        moments=moments,
    )


def make_scene(workers: Workers, settings: VerticalSettings, attacks: Iterable[object]) -> VerticalScene:
    """What the server knows before the first batch. A BatchNorm's statistics are told where an attack asks for them."""
    return VerticalScene(
        learner=workers.learner,
        rows=len(workers.x),
        batch_size=workers.batch_size,
        space=Space(layout=workers.truth.encoder.layout),
        fixed=not settings.moving,
        moments=any(isinstance(attack, Cafe) and attack.norms > 0 for attack in attacks),
    )


def threat_model(scene: VerticalScene, defense: str) -> ThreatModel:
    """Read off the scene that attacks start on."""
    handed = scene.describe()
    if defense == "none":
        return handed
    return handed.model_copy(
        update={
            "knows": (*handed.knows, "Which defence the workers use, and its settings."),
            "does_not_know": (*handed.does_not_know, "The random numbers of the defence."),
        }
    )


def model_of(source: Source, settings: VerticalSettings, model: str, seed: int) -> tuple[Encoder, Learner]:
    """The encoder and a freshly drawn model."""
    return make_parts(source, settings, model, study="vertical", seed=seed)


def drawn(table: Table, count: int, generator: np.random.Generator) -> Table:
    """So many people, with the classes in proportion."""
    if count > len(table):
        raise InputError(f"There are {count} people asked for; the table has {len(table)} rows.")
    return table.take(np.sort(stratified_order(table, generator)[:count]))


def _cell(work: Work, attack: str) -> VerticalCell:
    settings = work.settings
    return VerticalCell(
        dataset=work.source.name,
        people=settings.people,
        batches=settings.batches_seen,
        attack_point="while training" if settings.moving else "initialized",
        attack=attack,
        variant=work.variant,
        **asdict(work.choice),
    )


def _note_losses(found: Found, work: Work, workers: Workers, points: list[tuple[int, float]]) -> None:
    """How well the model trained, or would train where the weights are fixed and a defence has its price."""
    settings = work.settings
    if not settings.moving and settings.defended:
        work.progress("training loss", 0, 1)
        points = workers.losses(
            SharedLayers(batch_size=workers.batch_size, rate=settings.learning_rate, adam=settings.optimiser == "adam")
        )
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
    cell: VerticalCell, repeat: int, claim: Claim, workers: Workers, settings: VerticalSettings, seconds: float
) -> Record:
    """What was read. Where people are renumbered, rows are matched to the nearest person's."""
    values: dict[Measure, float] = {}
    if claim.rows is not None and claim.determined is not None:
        told, numbered = claim.determined, not workers.defense.renumbers
        own = claim if numbered else Claim(outcome=claim.outcome, rows=claim.rows, note=claim.note)
        evaluator = Evaluator(whole=Reference.of(workers.truth.rows), draws=2)
        values = evaluator(own, workers.truth, Knowledge(labels=False), workers.streams.numpy("baselines"))
        if numbered:
            values[Measure(ATTACK, WHOLE, "psnr")] = psnr(claim.rows[told], workers.x.numpy()[told])
        values[Measure(ATTACK, WHOLE, "determined")] = float(told.mean())
    people = len(workers.x)
    return Record(
        cell=cell,
        repeat=repeat,
        round=workers.batches,
        exposure=workers.batches * cell.batch_size / people if settings.moving else 0.0,
        rows=people,
        outcome=claim.outcome.code,
        seconds=seconds,
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
