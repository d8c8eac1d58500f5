"""Attacks the updates of a capture, case by case, and says what of the answers can be known."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from pydantic import JsonValue

from seepage._core import Outcome, Progress, Streams, silent, under
from seepage.attacks import RowsAttack
from seepage.data import Encoder, Schema, Statistics, Table
from seepage.federation import Truth
from seepage.metrics import Calibration, Evaluator, Reference, aligned, untold_measures
from seepage.metrics.resolution import resolution
from seepage.models import Learner
from seepage.observation import Claim, Observation, Tally
from seepage.plans import registry
from seepage.results import ALL_COLUMNS, ATTACK, Measure, Record, UpdatesCell
from seepage.results.captured_totals import SO_FAR
from seepage.studies.rows.attacking import claims_of
from seepage.studies.study import Found, Work
from seepage.studies.updates.checking import reads_backwards
from seepage.studies.updates.joining import joined_case, joined_observations
from seepage.studies.updates.noting import note_updates
from seepage.studies.updates.observing import (
    knowledge_of,
    observations_of,
    parts_of,
    shared_statistics,
    why_not,
)
from seepage.studies.updates.settings import UpdatesSettings
from seepage.studies.updates.simulating import drawn, simulate_alike
from seepage.studies.updates.so_far import LISTING, listed_so_far
from seepage.studies.updates.source import CapturedUpdates, Case

GUESSED = 10_000  # rows that show what a schema alone tells
SHOWN = 100  # rows that are revealed of a case, if that is asked for


@dataclass(frozen=True)
class UpdatesChoice:
    """What is attacked with one model: the whole capture, or one round of it."""

    model: str
    round: int | None = None

    @property
    def label(self) -> str:
        return self.model if self.round is None else f"{self.model}, round {self.round}"


@dataclass(frozen=True, kw_only=True)
class _Scene:
    """One case with all that its attacks share. Only the runner holds both sides."""

    case: Case
    encoder: Encoder
    observations: Sequence[Observation]
    truth: Truth | None

    def blocked(self, attack: str) -> str:
        """Why an attack cannot be tried; empty if it can."""
        return why_not(self.case, attack)


def run_choice(work: Work) -> Found:
    """Attack every case by every attack."""
    source, settings = work.source, work.settings
    encoder, learner = parts_of(source, settings)
    found = Found()
    clients = source.capture.clients
    for case in source.cases_of(work.choice.round):
        observations = observations_of(source, settings, case, encoder, learner)
        scene = _Scene(
            case=case,
            encoder=encoder,
            observations=observations,
            truth=truth_of(source, settings, encoder),
        )
        found.threat_model = found.threat_model or observations[0].describe()
        note_updates(found, source, case, observations, scene.truth)
        for name, many in settings.tried:
            cells = cells_of(source, settings, case, name, many, work.variant)
            found.cells += [(cell, "") for cell in cells]
            if not all(work.sink.has(cell) for cell in cells):
                _attack(work, _joined(work, scene, learner, many), name, cells, clients.index(case.client))
    return found


def _joined(work: Work, scene: _Scene, learner: Learner, many: int) -> _Scene:
    """The same with so many rounds read as one; updates that have too few before them are left out."""
    case = joined_case(scene.case, many)
    assert case is not None, "a case that is too short has no cells"
    seen = joined_observations(work.source, work.settings, scene.case, scene.encoder, learner, scene.observations, many)
    return replace(scene, case=case, observations=seen)


def cells_of(
    source: CapturedUpdates, settings: UpdatesSettings, case: Case, attack: str, many: int, variant: str
) -> list[UpdatesCell]:
    """The cells of one attack on a case: a simulation of the same shape, where there is one, and the capture.

    None where the client sent fewer updates than are to be joined.
    """
    if joined_case(case, many) is None:
        return []
    captured = UpdatesCell(
        dataset=source.name,
        sender=case.client,
        rounds=case.rounds,
        protocol=case.protocol,
        model=settings.model,
        batch_size=case.batch_size,
        attack=attack,
        watched=many,
        variant=variant,
    )
    simulates = source.truth is None and settings.simulations > 0 and not why_not(case, attack)
    return [replace(captured, origin="simulated"), captured] if simulates else [captured]


def truth_of(source: CapturedUpdates, settings: UpdatesSettings, encoder: Encoder) -> Truth | None:
    """The rows behind the updates, as the client encoded them."""
    if source.truth is None or source.client_rows is None:
        return None
    statistics = shared_statistics(source, settings, encoder) or encoder.statistics(source.client_rows)
    return Truth(rows=source.truth, encoder=encoder, statistics=statistics, client_rows=source.client_rows)


def _attack(work: Work, scene: _Scene, name: str, cells: Sequence[UpdatesCell], number: int) -> None:
    settings, source = work.settings, work.source
    attack: RowsAttack = registry.make("attack", name, "updates", settings.attack_options)
    captured = cells[-1]
    streams = Streams(settings.seed).child("attack", replace(captured, variant="").id)
    calibration = Calibration()
    if len(cells) > 1:
        records = _simulated(work, scene, attack, cells[0], streams)
        calibration = Calibration.of(records, source.table.schema)
        if not work.sink.has(cells[0]):
            work.sink.add(records)
    if work.sink.has(captured):
        return
    began = time.perf_counter()
    joined = f", {captured.watched} joined" if captured.watched > 1 else ""
    label = under(f"{captured.sender}, rounds {captured.rounds}, {name}{joined}", work.progress)
    claims = _claims(scene, attack, scene.blocked(name), streams, label)
    seconds = (time.perf_counter() - began) / len(claims)
    so_far = _so_far(work, scene, attack, name, claims, streams)
    records = []
    for index, (entry, observation, claim) in enumerate(
        zip(scene.case.entries, scene.observations, claims, strict=True)
    ):
        alone = captured.watched == 1 and not scene.blocked(name)
        backwards = reads_backwards(attack, observation, claim, streams) if alone else ""
        if backwards:
            warnings.warn(backwards, stacklevel=2)
        records.append(
            Record(
                cell=captured,
                repeat=0,
                client=number,
                round=entry.round,
                rows=scene.case.facts.rows,
                outcome=claim.outcome.code,
                seconds=seconds,
                note=" ".join(filter(None, (backwards, claim.note))),
                values=_values(work, scene, claim, calibration, streams.numpy("baselines", index)) | so_far[index],
            )
        )
    shown = _shown(captured, scene, claims[0], work, number) if settings.reveal else []
    work.sink.add(records, shown)


def _claims(scene: _Scene, attack: RowsAttack, blocked: str, streams: Streams, progress: Progress) -> list[Claim]:
    if blocked:
        return [Claim(outcome=Outcome.NOT_APPLICABLE, note=blocked) for _ in scene.observations]
    if len({id(each.learner) for each in scene.observations}) == 1:
        return claims_of(attack, scene.observations, streams, progress)
    # Running statistics differ from round to round, so these cannot be computed together.
    return [claims_of(attack, [each], streams, progress)[0] for each in scene.observations]


def _so_far(
    work: Work, scene: _Scene, attack: RowsAttack, name: str, claims: Sequence[Claim], streams: Streams
) -> list[dict[Measure, float]]:
    """For each claim, what it and those of earlier rounds say together."""
    if name.partition(":")[0] != LISTING or scene.blocked(name):
        return [{} for _ in claims]
    before: list[Claim] = []
    if scene.case.earlier:
        case = replace(scene.case, entries=scene.case.earlier, earlier=())
        learner = parts_of(work.source, work.settings)[1]
        earlier = observations_of(work.source, work.settings, case, scene.encoder, learner)
        before = _claims(replace(scene, case=case, observations=earlier), attack, "", streams, silent)
    measure = Measure(ATTACK, ALL_COLUMNS, SO_FAR)
    counts = listed_so_far([*before, *claims])[len(before) :]
    return [{} if count is None else {measure: float(count)} for count in counts]


def _simulated(work: Work, scene: _Scene, attack: RowsAttack, cell: UpdatesCell, streams: Streams) -> list[Record]:
    """Claims about imagined clients, scored: how often such an attack is right."""
    settings, source, own = work.settings, work.source, streams.child("simulated")
    knowledge = knowledge_of(source, settings)
    shared = shared_statistics(source, settings, scene.encoder)
    point, rows = simulate_alike(
        scene.observations[0], scene.encoder, source.table, shared, knowledge, settings.simulations, own
    )
    evaluator = Evaluator(
        training=Reference.of(source.table if len(source.table) else rows), matching=settings.matching
    )
    began = time.perf_counter()
    claims = claims_of(attack, point.observations, own, under(f"simulation, {cell.attack}", work.progress))
    seconds = (time.perf_counter() - began) / len(claims)
    return [
        Record(
            cell=cell,
            repeat=index,
            client=index,
            rows=len(truth.rows),
            outcome=claim.outcome.code,
            seconds=seconds,
            note=claim.note,
            values=evaluator(claim, truth, knowledge, own.numpy("baselines", index)),
        )
        for index, (claim, truth) in enumerate(zip(claims, point.truths, strict=True))
    ]


def _values(
    work: Work, scene: _Scene, claim: Claim, calibration: Calibration, generator: np.random.Generator
) -> dict[Measure, float]:
    schema = work.source.table.schema
    if scene.truth is None:
        return untold_measures(claim, schema, calibration)
    evaluator = Evaluator(training=guessed_from(work.source, scene.truth), matching=work.settings.matching)
    return evaluator(claim, scene.truth, knowledge_of(work.source, work.settings), generator)


def guessed_from(source: CapturedUpdates, truth: Truth) -> Reference:
    """What anybody can guess from without the update: a public table, or what the schema alone tells.

    Never the client's own rows: a guesser who has those knows all that is to be read, and nothing would be a gain.
    """
    if len(source.table):
        return Reference.of(source.table)
    found = Reference.of(drawn(source.table, GUESSED, np.random.default_rng(0)))
    return replace(found, resolution=resolution(truth.client_rows))


def _shown(cell: UpdatesCell, scene: _Scene, claim: Claim, work: Work, number: int) -> list[dict[str, JsonValue]]:
    """What was read of the first round, beside the true rows where they are known. Only with ``--reveal``."""
    if claim.tally is not None:
        return [
            {"cell": cell.id, "client": number, "truth": {}, "reconstruction": said}
            for said in told_totals(claim.tally, scene.encoder.schema)
        ]
    if claim.rows is None:
        return []
    schema, knowledge, truth = scene.encoder.schema, knowledge_of(work.source, work.settings), scene.truth
    shared = shared_statistics(work.source, work.settings, scene.encoder)
    if truth is not None:
        numbers, codes = aligned(claim, truth, knowledge, work.settings.matching)
        true = truth.rows.to_frame().drop(schema.target.name).to_dicts()
    else:
        # Numbers whose scaling nobody knows are told as the model takes them: in the client's deviations.
        scaling = shared or Statistics(np.zeros(claim.rows.shape[1]), np.ones(claim.rows.shape[1]))
        known = shared is not None
        numbers, codes = scene.encoder.decode(
            claim.rows, scaling, project=known and knowledge.ranges, whole=known and knowledge.whole
        )
        true = [{} for _ in numbers]
    read = Table(schema, np.round(numbers, 3), codes, np.zeros(len(numbers), dtype=np.int64))
    columns = [replace(column, integer=False) for column in schema.columns]
    plain = Table(replace(schema, columns=tuple(columns)), read.numbers, read.codes, read.target).to_frame()
    found = plain.drop(schema.target.name).to_dicts()
    return [
        {"cell": cell.id, "client": number, "truth": t, "reconstruction": c}
        for t, c in list(zip(true, found, strict=True))[:SHOWN]
    ]


def told_totals(tally: Tally, schema: Schema) -> list[dict[str, JsonValue]]:
    """What is said of every category, column by column. Only with ``--reveal``."""
    words = {1: "somebody has it", 0: "nobody has it", -1: "cannot be told"}
    found: list[dict[str, JsonValue]] = []
    for place, (column, states) in enumerate(zip(schema.categorical, tally.present, strict=True)):
        said: dict[str, JsonValue] = {}
        for at, category in enumerate(column.categories):
            text = words[int(states[at])]
            if tally.counts is not None and states[at] != 0:
                each = tally.counts[place]
                text = f"{each.middle[at]:.0f} rows ({each.low[at]:.0f} to {each.high[at]:.0f})"
            said[f"{column.name} = {category}"] = text
        found.append(said)
    return found
