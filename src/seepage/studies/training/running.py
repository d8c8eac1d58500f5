"""Runs one training of the study of vertical training: a model, its latent's quality, its cost, what parties read."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from seepage._core import Streams
from seepage._core.files import move, remove
from seepage._core.memory import peak_memory, reset_peak_memory
from seepage._core.scratch import scratch_folder
from seepage.federation.vertical import History, Phase, TabVFLClassifier, Traffic, fit_together
from seepage.federation.vertical.saved import saved_whole
from seepage.metrics import latent_quality, mean_quality
from seepage.models import fitting_threads
from seepage.results import Measure, Record, TrainingCell
from seepage.results.training import MODEL
from seepage.studies.study import Found, Work
from seepage.studies.training.parties import privacy_values
from seepage.studies.training.settings import TrainingSettings
from seepage.studies.training.tables import Parties
from seepage.studies.training.threat import crossing, threat_model

MODEL_FOLDER = "model"  # in the run folder of a single training
Values = dict[tuple[str, str], float]  # by scope (quality/published/XGBoost) and metric (f1)


@dataclass(frozen=True)
class TrainingChoice:
    """One training run."""

    design: str
    phases: str
    failure_probability: float
    failure_method: str
    repeat: int

    @property
    def label(self) -> str:
        parts = [self.design, "" if self.phases == "both" else self.phases]
        if self.failure_probability:
            parts.append(f"{self.failure_method} at {self.failure_probability:.0%} absent")
        return ", ".join(part for part in (*parts, f"run {self.repeat + 1}") if part)


@dataclass(frozen=True)
class TogetherChoice:
    """All training runs of a design and its phases, trained at once."""

    design: str
    phases: str

    @property
    def label(self) -> str:
        return f"{self.design}, all runs" if self.phases == "both" else f"{self.design}, {self.phases}, all runs"

    def trainings(self, settings: TrainingSettings) -> list[TrainingChoice]:
        """Each of them."""
        return [each for each in single_choices(settings) if (each.design, each.phases) == (self.design, self.phases)]


AnyChoice = TrainingChoice | TogetherChoice


def trainings_of(settings: TrainingSettings, choice: AnyChoice) -> list[TrainingChoice]:
    """The trainings of a task."""
    return [choice] if isinstance(choice, TrainingChoice) else choice.trainings(settings)


def training_choices(settings: TrainingSettings) -> Sequence[AnyChoice]:
    """What is trained by one task."""
    if settings.together:
        return [TogetherChoice(design, phases) for design in settings.designs for phases in settings.phases]
    return single_choices(settings)


def single_choices(settings: TrainingSettings) -> list[TrainingChoice]:
    """Every training run, the first repeat of everything first."""
    return [
        TrainingChoice(design, phases, probability, method, repeat)
        for repeat in range(settings.runs)
        for design in settings.designs
        for phases in settings.phases
        for probability in settings.failure_probabilities
        for method in (settings.failure_methods if probability else ("none",))
    ]


def make_model(settings: TrainingSettings, choice: TrainingChoice) -> TabVFLClassifier:
    """The model of one run."""
    streams = Streams(settings.seed).child("vertical", choice.repeat)
    return TabVFLClassifier(
        design=choice.design,
        latent=settings.latent,
        pretraining=0 if choice.phases == "no pretraining" else settings.pretraining,
        finetuning=0 if choice.phases == "no fine-tuning" else settings.finetuning,
        batch_size=settings.batch_size,
        rate=settings.rate,
        patience=settings.patience,
        failure_probability=choice.failure_probability,
        failure_method=choice.failure_method if choice.failure_probability else "hybrid",
        seed=streams.integer("model"),
    )


def one_epoch(settings: TrainingSettings, choice: TrainingChoice) -> TabVFLClassifier:
    """The same model with an epoch of each of its phases, everybody present: enough to see what crosses."""
    model = make_model(settings, choice)
    epochs = {"pretraining": min(1, model.pretraining), "finetuning": min(1, model.finetuning)}
    model.set_params(batch_size=32, failure_probability=0.0, **epochs)
    return model


def cell_of(table: str, settings: TrainingSettings, choice: TrainingChoice, variant: str) -> tuple[TrainingCell, str]:
    """The coordinates of a training, and which of its repeats a choice is."""
    cell = TrainingCell(
        dataset=table,
        design=choice.design,
        guests=settings.parties,
        phases=choice.phases,
        failure_probability=choice.failure_probability,
        failure_method=choice.failure_method,
        variant=variant,
    )
    return cell, f"run{choice.repeat}"


def run_choice(work: Work) -> Found:
    """Train, judge and store one run, or those that are trained at once."""
    return _run_together(work) if isinstance(work.choice, TogetherChoice) else _run_one(work)


def _run_together(work: Work) -> Found:
    """Those that are not stored yet are trained at once, then judged one by one. A kill costs a minute of training."""
    settings = work.settings
    trainings: list[TrainingChoice] = work.choice.trainings(settings)
    cells = [cell_of(work.source.name, settings, each, work.variant) for each in trainings]
    drawn = {repeat: work.source.drawn(settings, repeat) for repeat in range(settings.runs)}
    with fitting_threads(0):
        received = crossing(one_epoch(settings, trainings[0]), drawn[0])
    found = Found(cells=[*cells], threat_model=threat_model(settings, received))
    if all(work.sink.has(*cell) for cell in cells):
        return found
    begin = time.perf_counter()
    with _scratch(work) as folder, fitting_threads(0):
        models = [make_model(settings, each) for each in trainings]
        given = [
            (rows.frames, rows.labels, rows.train, rows.validation)
            for rows in (drawn[each.repeat] for each in trainings)
        ]
        fit_together(models, given, folder=folder, progress=work.progress)
        seconds = (time.perf_counter() - begin) / len(trainings)
        for place, (model, each, (cell, part)) in enumerate(zip(models, trainings, cells, strict=True)):
            work.progress("judging", place + 1, len(models), each.label)
            if not work.sink.has(cell, part):
                begin, rows = time.perf_counter(), drawn[each.repeat]
                values = costs(model.history_, model.traffic_) | _judged(settings, each.repeat, model, rows)
                record = _record(cell, each, rows, values, seconds + time.perf_counter() - begin)
                work.sink.add([record], part=part)
    return found


def _run_one(work: Work) -> Found:
    """One that was killed goes on from its last epoch."""
    settings, choice = work.settings, work.choice
    cell, part = cell_of(work.source.name, settings, choice, work.variant)
    parties = work.source.drawn(settings, choice.repeat)
    with fitting_threads(0):
        received = crossing(one_epoch(settings, choice), parties)
    found = Found(cells=[(cell, part)], threat_model=threat_model(settings, received))
    model = work.output / MODEL_FOLDER if work.output is not None else None
    if work.sink.has(cell, part) and (model is None or saved_whole(model)):
        _note_model(work, model)
        return found
    begin = time.perf_counter()
    with _scratch(work) as folder, fitting_threads(0):
        values = _trained(work, parties, folder)
    work.sink.add([_record(cell, choice, parties, values, time.perf_counter() - begin)], part=part)
    _note_model(work, model)
    return found


def _record(cell: TrainingCell, choice: TrainingChoice, rows: Parties, values: Values, seconds: float) -> Record:
    return Record(
        cell=cell,
        repeat=choice.repeat,
        rows=len(rows.train),
        outcome="ok",
        seconds=seconds,
        values={Measure(MODEL, scope, metric): value for (scope, metric), value in values.items()},
    )


def _note_model(work: Work, model: Path | None) -> None:
    if model is not None:
        work.sink.made(model.name)


def _scratch(work: Work) -> AbstractContextManager[Path]:
    if work.scratch is None:
        return scratch_folder()
    return nullcontext(work.scratch)


def _trained(work: Work, parties: Parties, folder: Path) -> Values:
    settings, choice = work.settings, work.choice
    model = make_model(settings, choice)
    reset_peak_memory()
    before = peak_memory()
    model.fit(
        parties.frames,
        parties.labels,
        train_rows=parties.train,
        validation_rows=parties.validation,
        folder=folder,
        progress=work.progress,
    )
    values: Values = {}
    after = peak_memory()
    if before is not None and after is not None:
        values["cost", "memory_mb"] = (after - before) / 2**20
    if work.output is not None and not saved_whole(work.output / MODEL_FOLDER):
        unfinished = work.output / "work" / MODEL_FOLDER  # it appears under its name when it is complete
        for old in (unfinished, work.output / MODEL_FOLDER):
            remove(old)
        model.save(unfinished)
        move(unfinished, work.output / MODEL_FOLDER)
    values |= costs(model.history_, model.traffic_)
    return values | _judged(settings, choice.repeat, model, parties)


def _judged(settings: TrainingSettings, repeat: int, model: TabVFLClassifier, parties: Parties) -> Values:
    """The latent's quality, and what the parties read of each other."""
    streams = Streams(settings.seed).child("vertical", repeat)
    values: Values = {}
    if settings.evaluate:
        values |= _quality(model, parties, streams)
    if settings.privacy:
        values |= privacy_values(model, parties.frames, parties.labels, streams)
    return values


def costs(history: History, traffic: Traffic) -> Values:
    """Seconds, epochs, bytes and the course of the validation loss."""
    values: Values = {}
    for phase in Phase:
        epochs = history.of(phase)
        values[f"cost/{phase.value}", "seconds"] = sum(epoch.seconds for epoch in epochs)
        values[f"cost/{phase.value}", "epochs"] = len(epochs)
        for kind, size in traffic.training_bytes(phase).items():
            values[f"bytes/{phase.value}", kind] = size
        for epoch in epochs:
            values[f"epoch/{phase.value}/{epoch.number}", "validation"] = epoch.validation
    return values


def _quality(model: TabVFLClassifier, parties: Parties, streams: Streams) -> Values:
    return quality(model.transform(parties.frames), parties.labels, parties.train, streams)


def quality(latent: np.ndarray, labels: np.ndarray, train: np.ndarray, streams: Streams) -> Values:
    """The latent as six predictors judge it."""
    trained = np.zeros(len(latent), dtype=bool)
    trained[train] = True
    qualities = latent_quality(latent, labels, trained, streams)
    values: Values = {}
    for each in qualities:
        scope = f"quality/{each.variant}/{each.predictor}"
        values |= {(scope, metric): getattr(each, metric) for metric in ("accuracy", "f1", "roc_auc")}
    for variant in ("published", "honest"):
        means = mean_quality(qualities, variant)
        values |= {(f"quality/{variant}/mean", metric): value for metric, value in means.items()}
    return values
