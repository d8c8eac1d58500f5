"""The report of a training between parties on different machines: what the host knows of it, as any run folder."""

from __future__ import annotations

import datetime
import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from sklearn.metrics import f1_score

from seepage._core import Streams
from seepage._core.names import HOST
from seepage.data import Schema
from seepage.federation.network.agreement import HostModel
from seepage.federation.network.config import HostConfig
from seepage.federation.network.hosting import HostParty
from seepage.results import Measure, Record, Run, TrainingCell, Trials
from seepage.results.assembling import assemble
from seepage.results.facts import ColumnFacts, Dataset, ThreatModel
from seepage.results.store import STORE_VERSION
from seepage.results.training import MODEL, TrainingSummary
from seepage.runs.identity import versions
from seepage.runs.machine import machine
from seepage.studies.training.running import Values, costs, quality

if TYPE_CHECKING:
    pass

REPORT = "report"
NOT_TESTED = (
    "What the parties read of each other: that needs everybody's rows in one place. `seepage train --privacy` measures "
    "it on one table.",
    "Parties that do not follow the protocol, and parties that work together.",
)


def write_report_of(config: HostConfig, party: HostParty, model: HostModel, where: Path) -> list[str]:
    """Judge the model on rows that nobody trained on, and write a report beside it.

    Args:
        where: the configuration file, for the command that repeats it.

    Returns:
        What to tell, as lines.
    """
    from seepage.report import write_report

    right, f1 = _own_judgement(model)
    values = costs(party.history, model.host.traffic) | _quality(config, model)
    values |= {("quality/own", "accuracy"): right, ("quality/own", "f1"): f1}
    begun = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    command = shlex.join(["seepage", "party", "host", "--config", str(where)])
    run = _new_run(config, command, begun)
    cell = TrainingCell(
        dataset=config.name,
        design=config.training.design,
        guests=len(model.host.guests),
        phases="both",
        failure_probability=0.0,
        failure_method="none",
        variant="",
    )
    record = Record(
        cell=cell,
        repeat=0,
        rows=len(model.split["train"]),
        outcome="ok",
        seconds=sum(epoch.seconds for epoch in party.history.epochs),
        values={Measure(MODEL, scope, metric): value for (scope, metric), value in values.items()},
    )
    run.add([record], part="run0")
    head = _head(config, model, run, command, begun)
    run.write("summary.json", assemble(TrainingSummary, head, [([Trials.of([record])], ())], {}).to_json())
    path = write_report(run)
    return [
        f"{len(model.split['rows']):,} common rows; on the {len(model.split['test']):,} that nobody trained on: "
        f"accuracy {right:.3f}, F1 {f1:.3f}.",
        f"Model: {config.folder / 'model'} (this party's part; each guest has its own).",
        f"Report: {path}",
        f"Log of messages: {config.folder / 'log'} (check it with `seepage party log`).",
    ]


def _own_judgement(model: HostModel) -> tuple[float, float]:
    """Accuracy and F1 of the model itself on the test rows."""
    rows = torch.from_numpy(model.split["test"])
    predicted = model.host.logits(model.host.latent(rows)).argmax(1).numpy()
    true = model.labels[model.split["test"]]
    return float((predicted == true).mean()), float(f1_score(true, predicted, average="weighted"))


def _quality(config: HostConfig, model: HostModel) -> Values:
    latent = model.host.latent(torch.arange(len(model.labels))).numpy()
    return quality(latent, model.labels, model.split["train"], Streams(config.seed or 0))


def _new_run(config: HostConfig, command: str, begun: str) -> Run:
    number = 1
    while (folder := config.folder / (REPORT if number == 1 else f"{REPORT}-{number}")).exists():
        number += 1
    head: dict[str, Any] = {
        "store_version": STORE_VERSION,
        "study": "training",
        "created": begun,
        "command": command,
        "tasks": 1,
        "dataset": config.name,
    }
    return Run.create(folder, head)


def _head(config: HostConfig, model: HostModel, run: Run, command: str, begun: str) -> dict[str, Any]:
    own = () if model.columns is None else _described(model.columns.schema)
    received = sorted({kind.value for _, training, _, to, kind in model.host.traffic.bytes if training and to == HOST})
    return {
        "name": run.path.name,
        "path": str(run.path),
        "command": command,
        "created": begun,
        "seed": config.seed or 0,
        "versions": versions(),
        "machine": machine(),
        "settings": json.loads(config.training.model_dump_json()),
        "dataset": Dataset(
            name=config.name,
            rows=len(model.split["rows"]),
            target=config.target,
            task="classification",
            columns=own,
            notes=(
                f"Columns of {', '.join(config.guests)} stay there: this report lists the host's own.",
                "Rows were aligned by private set intersection."
                if config.key
                else "Rows were taken in the order of the files.",
            ),
        ),
        "threat_model": ThreatModel(
            adversary=("Nobody: what parties read of each other was not measured here.",),
            sees=(f"The host, of every guest: {', '.join(received)}.",),
        ),
        "not_tested": NOT_TESTED,
        "apart": list(config.guests),
    }


def _described(schema: Schema) -> tuple[ColumnFacts, ...]:
    numbers = tuple(ColumnFacts(name=column.name, kind="number") for column in schema.numeric)
    return numbers + tuple(
        ColumnFacts(name=column.name, kind="category", cardinality=len(column.categories))
        for column in schema.categorical
    )
