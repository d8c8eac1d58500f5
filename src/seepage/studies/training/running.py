"""Vertical training, measured: designs, failing guests, latent quality and cost."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import resource
import secrets
import shutil
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import torch

from seepage._core import InputError, Progress, Streams, silent, unknown_name
from seepage.data import read_frame
from seepage.data.source import Request, open_source
from seepage.data.split import class_order
from seepage.federation.vertical import METHODS, Phase, TabVFLClassifier, align, dealt, make_design
from seepage.federation.vertical.designs import check_latent
from seepage.metrics import latent_quality, mean_quality
from seepage.results.vertical import Value, VerticalCell, VerticalRun
from seepage.studies.training.parties import privacy_values

PHASES = ("both", "no pretraining", "no fine-tuning")


@dataclass(frozen=True, kw_only=True)
class VerticalPlan:
    """What is trained and compared.

    Args:
        data: a named data set or a file, whose columns are dealt to the guests.
        tables: or the parties' own files, as (name, path).
        key: the column by which the rows of ``tables`` are aligned.
        target: the label column, for a file or for ``tables``; there exactly one party has it.
        path: the user's own copy of a named data set.
        designs: which part of TabNet is where.
        guests: parties among whom the columns are dealt evenly.
        phases: ``both``, ``no pretraining``, ``no fine-tuning`` (Table 6.1 of document 004).
        failure_probabilities, failure_methods: of absent guests; probability 0 is run once.
        rows: at most so many, drawn with the classes in proportion.
        runs: repeats of everything, with other splits and seeds.
        latent, pretraining, finetuning, batch_size, rate, patience: see :class:`TabVFLClassifier`.
        evaluate: train the six predictors on the latent.
        privacy: measure what host and guests read of each other.
        seed: of all randomness.
    """

    data: str | None = None
    tables: tuple[tuple[str, str], ...] = ()
    key: str | None = None
    target: str | None = None
    path: str | None = None
    designs: tuple[str, ...] = ("central", "local", "local_encoders", "tabvfl")
    guests: int = 5
    phases: tuple[str, ...] = ("both",)
    failure_probabilities: tuple[float, ...] = (0.0,)
    failure_methods: tuple[str, ...] = ("cache", "zeros")
    rows: int = 50_000
    runs: int = 3
    latent: int = 5
    pretraining: int = 100
    finetuning: int = 100
    batch_size: int = 512
    rate: float = 0.02
    patience: int = 10
    evaluate: bool = True
    privacy: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        if (self.data is None) == (not self.tables):
            raise InputError("Give either one table to deal (--data) or the parties' own tables (--table NAME=FILE).")
        if self.tables and not (self.key and self.target):
            raise InputError("The parties' tables need --key, the column that says who a row is, and --target.")
        for design in self.designs:
            make_design(design)
        if self.runs < 1 or self.rows < 20:
            raise InputError(f"There are {self.runs} runs of {self.rows} rows; at least 1 run of 20 rows is needed.")
        for phases in self.phases:
            if phases not in PHASES:
                raise InputError(f"Unknown phases {phases!r}; there are: {', '.join(PHASES)}.")
        for method in self.failure_methods:
            if method not in METHODS:
                raise InputError(f"Unknown failure method {method!r}; there are: {', '.join(METHODS)}.")
        check_latent(self.latent, self.guests)

    def cells(self, dataset: str) -> list[VerticalCell]:
        """Every training run, the first repeat of everything first."""
        found = []
        for repeat in range(self.runs):
            for design in self.designs:
                for phases in self.phases:
                    for probability in self.failure_probabilities:
                        for method in self.failure_methods if probability else ("none",):
                            found.append(
                                VerticalCell(
                                    dataset=dataset,
                                    design=design,
                                    guests=self.guests,
                                    phases=phases,
                                    failure_probability=probability,
                                    failure_method=method,
                                    repeat=repeat,
                                )
                            )
        return found


@dataclass(frozen=True)
class Parties:
    """A table cut in columns."""

    frames: dict[str, pl.DataFrame]
    labels: np.ndarray
    train: np.ndarray
    validation: np.ndarray
    said: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """Equal for the same rows, in whatever order: a file may have changed since a run was begun."""
        frames = {name: [frame.columns, str(frame.hash_rows(seed=0).sum())] for name, frame in self.frames.items()}
        text = json.dumps([frames, np.sort(self.labels).tolist()])
        return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def run_vertical(
    plan: VerticalPlan, run: VerticalRun, *, jobs: int = 1, command: str = "", progress: Progress = silent
) -> dict[str, Any]:
    """Train every cell that is not finished yet, each in a process of its own, and write the summary."""
    name = plan.data if plan.data is not None else "-".join(name for name, _ in plan.tables)
    cells = plan.cells(Path(name).stem)
    parties = deal(plan, 0)  # whatever is wrong with the tables is said before any work
    run.same_rows(parties.digest)
    waiting = [cell for cell in cells if not run.has(cell)]
    begin, done = time.perf_counter(), len(cells) - len(waiting)
    if jobs == 1 and len(waiting) == 1:
        folder = run.run.path
        run.add(waiting[0], train_cell(plan, waiting[0], folder / "work", keep=folder / "model", progress=progress))
    elif waiting:
        with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn"), max_tasks_per_child=1) as pool:
            tasks = {pool.submit(train_cell, plan, cell, run.run.path / "work"): cell for cell in waiting}
            progress("training runs", done, len(cells))
            failed = []
            for task in as_completed(tasks):
                if task.exception() is None:  # one cell that fails must not cost the others
                    run.add(tasks[task], task.result())
                else:
                    failed.append(task)
                done += 1
                progress("training runs", done, len(cells), tasks[task].design)
            if failed:
                failed[0].result()
    shutil.rmtree(run.run.path / "work", ignore_errors=True)  # states of runs that are finished
    facts = {
        "name": run.run.path.name,
        "settings": asdict(plan),
        "command": command,
        "dataset": {
            "name": cells[0].dataset,
            "rows": len(parties.labels),
            "columns": sum(frame.width for frame in parties.frames.values()),
            "notes": list(parties.said),
        },
        "seconds": time.perf_counter() - begin,
    }
    return run.summarise(facts)


def train_cell(
    plan: VerticalPlan, cell: VerticalCell, work: Path, *, keep: Path | None = None, progress: Progress = silent
) -> list[Value]:
    """One training run and its numbers. A run that was killed goes on from its last epoch.

    Args:
        work: where it saves its state.
        keep: where the model is saved at the end.
    """
    if multiprocessing.parent_process() is not None:
        torch.set_num_threads(1)
    parties = deal(plan, cell.repeat)
    streams = Streams(plan.seed).child("vertical", cell.repeat)
    model = TabVFLClassifier(
        design=cell.design,
        latent=plan.latent,
        pretraining=0 if cell.phases == "no pretraining" else plan.pretraining,
        finetuning=0 if cell.phases == "no fine-tuning" else plan.finetuning,
        batch_size=plan.batch_size,
        rate=plan.rate,
        patience=plan.patience,
        failure_probability=cell.failure_probability,
        failure_method=cell.failure_method if cell.failure_probability else "zeros",
        seed=streams.integer("model"),
    )
    before = _peak()
    model.fit(
        parties.frames,
        parties.labels,
        train_rows=parties.train,
        validation_rows=parties.validation,
        folder=work / cell.id,
        progress=progress,
    )
    if keep is not None:
        model.save(keep)
    values = [Value("cost", "memory_mb", _peak() - before)]
    for phase in Phase:
        epochs = model.history_.of(phase)
        values += [
            Value(f"cost/{phase.value}", "seconds", sum(epoch.seconds for epoch in epochs)),
            Value(f"cost/{phase.value}", "epochs", len(epochs)),
        ]
        for kind, size in model.traffic_.training_bytes(phase).items():
            values.append(Value(f"bytes/{phase.value}", kind, size))
        for epoch in epochs:
            values.append(Value(f"epoch/{phase.value}/{epoch.number}", "validation", epoch.validation))
    if plan.evaluate:
        values += _quality(model, parties, streams)
    if plan.privacy:
        values += privacy_values(model, parties.frames, parties.labels, streams)
    return values


def deal(plan: VerticalPlan, repeat: int) -> Parties:
    """The parties' tables: rows drawn and split 70/15/15, columns at the guests."""
    generator = Streams(plan.seed).child("vertical", repeat).numpy("rows")
    if plan.tables:
        frames, labels, said = aligned_tables(plan)
    else:
        source = open_source(Request(data=plan.data, target=plan.target, path=Path(plan.path) if plan.path else None))
        if source.table.schema.target.task == "regression":
            raise InputError(f"{source.name} has a number as its target; vertical training needs classes.")
        frame, labels = source.table.to_frame(), source.table.target
        columns = dealt(list(source.table.schema.names), plan.guests)
        frames = {f"guest{number}": frame.select(names) for number, names in enumerate(columns, start=1)}
        said = ()
    rows = np.sort(class_order(labels, generator)[: plan.rows])
    # The order is drawn once and kept: files are sorted by date or by place, and batches of neighbours teach BatchNorm
    # the mean of a place.
    order = class_order(labels[rows], generator)
    first, second = round(0.7 * len(order)), round(0.85 * len(order))
    return Parties(
        {name: frame[rows] for name, frame in frames.items()},
        labels[rows],
        order[:first],
        order[first:second],
        said,
    )


def aligned_tables(plan: VerticalPlan) -> tuple[dict[str, pl.DataFrame], np.ndarray, tuple[str, ...]]:
    """The parties' own files with their rows aligned; the party that has the target is the host."""
    assert plan.key is not None
    assert plan.target is not None
    frames = {name: read_frame(Path(path)) for name, path in plan.tables}
    if len(frames) < len(plan.tables):
        raise InputError("Two tables have the same party's name.")
    for name, frame in frames.items():
        if plan.key not in frame.columns:
            raise unknown_name(f"key of party {name!r}", plan.key, frame.columns)
    owners = [name for name, frame in frames.items() if plan.target in frame.columns]
    if len(owners) != 1:
        found = "at no party" if not owners else f"at {' and '.join(map(repr, owners))}"
        raise InputError(f"The target {plan.target!r} is {found}; exactly one party, the host, must have it.")
    for name, frame in frames.items():
        if not set(frame.columns) - {plan.key, plan.target}:
            raise InputError(f"Party {name!r} has no columns beside the key and the target.")
    # The salt is drawn anew: in one process nobody needs to know it, and nobody can test guesses later.
    alignment = align({name: frame[plan.key] for name, frame in frames.items()}, salt=secrets.token_bytes(32))
    # The common order is that of salted hashes; for the same run twice the rows go by the host's own order.
    order = np.argsort(alignment.rows[owners[0]])
    frames = {name: frame[alignment.rows[name][order]] for name, frame in frames.items()}
    labels = frames[owners[0]][plan.target]
    if labels.null_count():
        raise InputError(f"The target {plan.target!r} is empty in {labels.null_count()} of the aligned rows.")
    others = {name: frame.drop([plan.key, plan.target], strict=False) for name, frame in frames.items()}
    return others, labels.to_numpy(), tuple(alignment.describe())


def _quality(model: TabVFLClassifier, parties: Parties, streams: Streams) -> list[Value]:
    latent = model.transform(parties.frames)
    trained = np.zeros(len(latent), dtype=bool)
    trained[parties.train] = True
    qualities = latent_quality(latent, parties.labels, trained, streams)
    values = []
    for quality in qualities:
        scope = f"quality/{quality.variant}/{quality.predictor}"
        values += [Value(scope, metric, getattr(quality, metric)) for metric in ("accuracy", "f1", "roc_auc")]
    for variant in ("published", "honest"):
        means = mean_quality(qualities, variant)
        values += [Value(f"quality/{variant}/mean", metric, value) for metric, value in means.items()]
    return values


def _peak() -> float:
    """The largest resident size of this process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
