"""Runs one training of the study of vertical training: a model, its latent's quality, its cost, what parties read."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from seepage._core import Streams
from seepage._core.files import move, remove
from seepage._core.memory import peak_memory, reset_peak_memory
from seepage._core.scratch import scratch_folder
from seepage.federation.vertical import History, Phase, TabVFLClassifier, Traffic
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


def training_choices(settings: TrainingSettings) -> list[TrainingChoice]:
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


def _one_epoch(settings: TrainingSettings, choice: TrainingChoice) -> TabVFLClassifier:
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
    """Train, judge and store one run. One that was killed goes on from its last epoch."""
    settings, choice = work.settings, work.choice
    cell, part = cell_of(work.source.name, settings, choice, work.variant)
    parties = work.source.drawn(settings, choice.repeat)
    with fitting_threads(0):
        received = crossing(_one_epoch(settings, choice), parties)
    found = Found(cells=[(cell, part)], threat_model=threat_model(settings, received))
    model = work.output / MODEL_FOLDER if work.output is not None else None
    if work.sink.has(cell, part) and (model is None or saved_whole(model)):
        _note_model(work, model)
        return found
    begin = time.perf_counter()
    with _scratch(work) as folder, fitting_threads(0):
        values = _trained(work, parties, folder)
    record = Record(
        cell=cell,
        repeat=choice.repeat,
        rows=len(parties.train),
        outcome="ok",
        seconds=time.perf_counter() - begin,
        values={Measure(MODEL, scope, metric): value for (scope, metric), value in values.items()},
    )
    work.sink.add([record], part=part)
    _note_model(work, model)
    return found


def _note_model(work: Work, model: Path | None) -> None:
    if model is not None:
        work.sink.made(model.name)


def _scratch(work: Work) -> AbstractContextManager[Path]:
    if work.scratch is None:
        return scratch_folder()
    return nullcontext(work.scratch)


def _trained(work: Work, parties: Parties, folder: Path) -> Values:
    settings, choice = work.settings, work.choice
    streams = Streams(settings.seed).child("vertical", choice.repeat)
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
