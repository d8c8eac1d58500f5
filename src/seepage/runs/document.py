"""Turns findings into the summary document (``docs/reference/summary.md``)."""

from __future__ import annotations

import platform
import shlex
from collections.abc import Callable, Sequence
from dataclasses import fields
from importlib.metadata import version
from pathlib import Path
from typing import Any

from seepage.studies.vertical.running import batches_seen
from seepage.studies.rows.explain import explain
from seepage.runs.plan import Plan, Task
from seepage.studies.rows.settings import Settings
from seepage.data.source import Source
from seepage.data import Schema
from seepage.results import SCHEMA_VERSION, Record, Summary, summarise_cells
from seepage.results.summary import CRASHED, NOT_RUN

EXPLAINED = 12  # variants of which it is counted what can work; more would be a page of its own


def versions() -> dict[str, str]:
    """What this ran on."""
    packages = {name: version(name) for name in ("seepage", "torch", "numpy", "polars", "scikit-learn")}
    return packages | {"python": platform.python_version()}


def make_summary(
    plan: Plan,
    sources: Sequence[Source],
    documents: Sequence[dict[str, Any]],
    records: Callable[[Sequence[str]], list[Record]],
    revealed: Callable[[str], list[dict[str, Any]]],
    *,
    name: str,
    path: str | None,
    command: str,
) -> Summary:
    """The summary of a finished audit.

    Args:
        sources: the table of each variant.
        documents: what is known of each task, in the order of the plan.
        records, revealed: those of cells, by their ids.
    """
    first, settings = sources[0], plan.variants[0].settings
    several = len({source.name for source in sources}) > 1
    cells, applicability = [], []
    told = list(zip(plan.tasks, documents, strict=True))
    for place, (variant, source) in enumerate(zip(plan.variants, sources, strict=True)):
        columns = describe_columns(source.table.schema)
        found = [record for task, each in told if task.place == place for record in records(each["cells"])]
        cells += summarise_cells(found, columns)
        if variant.settings.protocol != "vertical" and len(plan.variants) <= EXPLAINED:
            head = {"dataset": source.name, "variant": variant.name}
            applicability += [head | entry for entry in explain(source, variant.settings, found)]
    document: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "name": name,
        "path": path,
        "seed": settings.seed,
        "versions": versions(),
        "settings": settings.model_dump(mode="json"),
        "command": command,
        "dataset": describe_all(list({source.name: source for source in sources}.values()))
        if several
        else describe_dataset(first),
        "threat_model": threat_model([variant.settings for variant in plan.variants]),
        "cells": cells,
        "applicability": applicability,
        "not_tested": not_tested(plan)
        + [
            _not_run(task, each, sources[task.place].name if several else "")
            for task, each in told
            if not each["cells"]
        ],
    } | {key: [entry for each in documents for entry in each.get(key, ())] for key in ("utility", "privacy")}
    if len(plan.variants) > 1:
        document["variants"] = [
            {"name": variant.name, "dataset": source.name, "settings": _differing(variant.settings, settings)}
            for variant, source in zip(plan.variants, sources, strict=True)
        ]
    vertical = next((v.settings for v in plan.variants if v.settings.protocol == "vertical"), None)
    if vertical is not None:
        document["vertical"] = {
            "people": vertical.people,
            "batches": batches_seen(vertical),
            "losses": [entry for each in documents for entry in each.get("losses", ())],
        }
    if any(variant.settings.reveal for variant in plan.variants):
        document["revealed"] = [row for each in documents for cell in each["cells"] for row in revealed(cell)]
    return Summary(document)


def _not_run(task: Task, document: dict[str, Any], table: str = "") -> str:
    """A task of the plan that gave no cell. The table is named where there are several."""
    choice, variant = task.choice, task.variant
    said = [table, variant.settings.protocol, choice.model, f"batch {choice.batch_size}", choice.defense, variant.name]
    which = ", ".join(part for part in said if part and part != "none")
    error = document.get("error")
    return f"{NOT_RUN}{which}. {document.get('reason') if error is None else f'{CRASHED}{error}'}"


def _differing(settings: Settings, base: Settings) -> dict[str, Any]:
    """What differs from the first variant."""
    ours, theirs = settings.model_dump(mode="json"), base.model_dump(mode="json")
    return {key: value for key, value in ours.items() if value != theirs[key]}


def describe_columns(schema: Schema) -> list[dict[str, Any]]:
    """Names, kinds and sizes; no values."""
    return [
        {"name": c.name, "kind": c.kind, "cardinality": len(c.categories) or None, "sensitive": c.sensitive}
        for c in schema.columns
    ]


def describe_all(sources: Sequence[Source]) -> dict[str, Any]:
    """Several data sets in one entry: columns bear the name of their table."""
    each = [describe_dataset(source) for source in sources]
    return {
        "name": ", ".join(entry["name"] for entry in each),
        "rows": sum(entry["rows"] for entry in each),
        "target": ", ".join(dict.fromkeys(entry["target"] for entry in each)),
        "task": ", ".join(dict.fromkeys(entry["task"] for entry in each)),
        "columns": [c | {"dataset": entry["name"]} for entry in each for c in entry["columns"]],
        "dropped": [d | {"dataset": entry["name"]} for entry in each for d in entry["dropped"]],
        "notes": [note for entry in each for note in entry["notes"]],
    }


def describe_dataset(source: Source) -> dict[str, Any]:
    """The data set's facts for the report."""
    schema = source.table.schema
    return {
        "name": source.name,
        "rows": len(source.table),
        "target": schema.target.name,
        "task": schema.target.task,
        "columns": describe_columns(schema),
        "dropped": [{"name": d.name, "reason": d.reason} for d in schema.dropped],
        "notes": list(source.notes),
    }


def threat_model(every: Sequence[Settings]) -> dict[str, Any]:
    """Who attacks, what it sees and knows: over all settings of a plan."""
    each = [_seen_and_known(settings) for settings in every]
    return {
        "adversary": "An honest-but-curious server: it follows the protocol and tries to read rows from the updates.",
        **{part: _over_settings([entry[part] for entry in each]) for part in each[0]},
    }


def _seen_and_known(settings: Settings) -> dict[str, list[str]]:
    described = settings.knowledge.describe()
    if settings.defended:
        described["knows"].append("Which defence the clients use, and its settings.")
        described["does_not_know"].append("The random numbers of the defence.")
    return {"sees": [_SENT[settings.protocol], "The global model of every round."], **described}


def _over_settings(lists: Sequence[Sequence[str]]) -> list[str]:
    """What holds in all settings, then what holds in some."""
    sentences = dict.fromkeys(sentence for each in lists for sentence in each)
    everywhere = [sentence for sentence in sentences if all(sentence in each for each in lists)]
    some = [sentence for sentence in sentences if sentence not in everywhere]
    return everywhere + [f"In some settings: {sentence[0].lower()}{sentence[1:]}" for sentence in some]


_SENT = {
    "fedsgd": "Each client's gradient of one mini batch, in every attacked round, before averaging.",
    "fedavg": "Each client's change of the model after local training, in every attacked round, before averaging.",
    "vertical": "The aggregated gradient of every batch, and which rows it chose for the batch.",
}


def not_tested(plan: Plan) -> list[str]:
    """What this run says nothing about."""
    every = [variant.settings for variant in plan.variants]
    tested = {settings.protocol for settings in every}
    others = [said for name, said in _PROTOCOLS.items() if name not in tested]
    said = f" ({' and '.join(others)})" if others else ""
    sentences = [
        "Stronger attacks than the ones listed. A low number here is not a proof of privacy.",
        _defences_left_out(list(dict.fromkeys(spec for settings in every for spec in settings.defended))),
        f"Other protocols{said}, other models and other batch sizes than the ones listed.",
        "A malicious server, or clients that attack each other.",
        "Membership and property inference.",
    ]
    if all(settings.labels_known for settings in every):
        sentences.append("An attacker without the labels, which is weaker.")
    return sentences


_PROTOCOLS = {"fedsgd": "FedSGD", "fedavg": "FedAvg", "vertical": "vertical learning"}


def _defences_left_out(defended: Sequence[str]) -> str:
    if not defended:
        return "Defences: none was in place (no noise, no clipping, no secure aggregation)."
    return (
        f"Other defences than {', '.join(defended)}, secure aggregation, and attacks that were made for the "
        "defence they meet: one that models it can read more."
    )


def command_line(plan: Plan) -> str:
    """The command that repeats this audit: everything that differs from the defaults. A grid needs its plan."""
    request, settings = plan.variants[0].request, plan.variants[0].settings
    if len(plan.variants) > 1:
        return "seepage audit --plan PLAN"
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
