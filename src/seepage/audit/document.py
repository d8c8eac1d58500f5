"""Turns findings into the summary document (``docs/reference/summary.md``)."""

from __future__ import annotations

import platform
import shlex
from dataclasses import fields
from importlib.metadata import version
from pathlib import Path
from typing import Any

from seepage.audit.cafe import batches_seen
from seepage.audit.explain import explain
from seepage.audit.runner import Findings
from seepage.audit.settings import Settings
from seepage.audit.source import Request, Source
from seepage.data import Schema
from seepage.results import SCHEMA_VERSION, Summary, summarise_cells


def versions() -> dict[str, str]:
    """What this ran on."""
    packages = {name: version(name) for name in ("seepage", "torch", "numpy", "polars", "scikit-learn")}
    return packages | {"python": platform.python_version()}


def make_summary(
    source: Source, settings: Settings, findings: Findings, *, name: str, path: str | None, command: str
) -> Summary:
    """The summary of a finished audit."""
    columns = describe_columns(source.table.schema)
    document: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "name": name,
        "path": path,
        "seed": settings.seed,
        "versions": versions(),
        "settings": settings.model_dump(mode="json"),
        "command": command,
        "dataset": describe_dataset(source, columns),
        "threat_model": threat_model(settings),
        "cells": summarise_cells(findings.records, columns),
        "utility": findings.utility,
        "privacy": findings.privacy,
        "applicability": [] if settings.protocol == "vertical" else explain(source, settings, findings.records),
        "not_tested": not_tested(settings),
    }
    if settings.protocol == "vertical":
        document["vertical"] = {
            "people": settings.people,
            "batches": batches_seen(settings),
            "losses": findings.losses,
        }
    if settings.reveal:
        document["revealed"] = findings.revealed
    return Summary(document)


def describe_columns(schema: Schema) -> list[dict[str, Any]]:
    """Names, kinds and sizes; no values."""
    return [
        {"name": c.name, "kind": c.kind, "cardinality": len(c.categories) or None, "sensitive": c.sensitive}
        for c in schema.columns
    ]


def describe_dataset(source: Source, columns: list[dict[str, Any]]) -> dict[str, Any]:
    """The data set's facts for the report."""
    schema = source.table.schema
    return {
        "name": source.name,
        "rows": len(source.table),
        "target": schema.target.name,
        "task": schema.target.task,
        "columns": columns,
        "dropped": [{"name": d.name, "reason": d.reason} for d in schema.dropped],
        "notes": list(source.notes),
    }


def threat_model(settings: Settings) -> dict[str, Any]:
    """Who attacks, what it sees and knows."""
    sent = {
        "fedsgd": "Each client's gradient of one mini batch, in every attacked round, before averaging.",
        "fedavg": "Each client's change of the model after local training, in every attacked round, before averaging.",
        "vertical": "The aggregated gradient of every batch, and which rows it chose for the batch.",
    }
    described = settings.knowledge.describe()
    if settings.defended:
        described["knows"].append("Which defence the clients use, and its settings.")
        described["does_not_know"].append("The random numbers of the defence.")
    return {
        "adversary": "An honest-but-curious server: it follows the protocol and tries to read rows from the updates.",
        "sees": [sent[settings.protocol], "The global model of every round."],
        **described,
    }


def not_tested(settings: Settings) -> list[str]:
    """What this run says nothing about."""
    other = {"fedsgd": "FedAvg", "fedavg": "FedSGD", "vertical": "FedSGD and FedAvg"}[settings.protocol]
    sentences = [
        "Stronger attacks than the ones listed. A low number here is not a proof of privacy.",
        _defences_left_out(settings),
        f"Other protocols ({other}), other models and other batch sizes than the ones listed.",
        "A malicious server, or clients that attack each other.",
        "Membership and property inference.",
    ]
    if settings.labels_known:
        sentences.append("An attacker without the labels, which is weaker.")
    return sentences


def _defences_left_out(settings: Settings) -> str:
    if not settings.defended:
        return "Defences: none was in place (no noise, no clipping, no secure aggregation)."
    return (
        f"Other defences than {', '.join(settings.defended)}, secure aggregation, and attacks that were made for the "
        "defence they meet: one that models it can read more."
    )


def command_line(request: Request, settings: Settings) -> str:
    """The command that repeats this audit: everything that differs from the defaults."""
    data = str(request.data) if isinstance(request.data, str | Path) else "FILE"
    words = ["seepage", "audit", "--data", data]
    said = {field.name: getattr(request, field.name) for field in fields(request) if field.name != "data"}
    for name, value in said.items():
        words += _option(name, value) if value else []
    for name, value in settings.model_dump().items():
        words += _option(name, value) if value != getattr(DEFAULTS, name) else []
    return shlex.join(words)


DEFAULTS = Settings()
_NAMES = {
    "models": "model",
    "defenses": "defense",
    "batch_sizes": "batch-size",
    "model_options": "model-option",
    "attack_options": "attack-option",
}
_FLAGS = {"labels_known": "--labels-unknown", "local_statistics": "--global-statistics"}  # true unless said


def _option(name: str, value: Any) -> list[str]:
    flag = "--" + _NAMES.get(name, name.replace("_", "-"))
    if isinstance(value, bool):
        return [_FLAGS.get(name, flag)]
    if isinstance(value, dict):
        return [word for key, entry in value.items() for word in (flag, f"{key}={entry}")]
    if isinstance(value, tuple | list):
        return [flag, ",".join(str(entry) for entry in value)]
    return [flag, "all" if value is None else str(value)]
