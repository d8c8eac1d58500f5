"""Document 004 (TabVFL): its tables beside ours. The plans say what differs."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from seepage.reproductions.effort import Effort
from seepage.reproductions.line import Line
from seepage.reproductions.plan_file import read_values
from seepage.reproductions.published import beside, published
from seepage.results.vertical import VerticalRun
from seepage.studies.training.running import VerticalPlan, run_vertical

DATASETS = {
    "bank_marketing": "Bank Marketing",
    "covertype": "Forest Cover Type",
    "intrusion": "Intrusion",
    "rice_msc": "Rice MSC",
    "airline": "Air Passenger Satisfaction",
}
OWN = ("intrusion", "rice_msc", "airline")  # only from the user's own files
DESIGNS = {"central": "CT", "local": "LT", "local_encoders": "TabVFL-LE", "tabvfl": "TabVFL"}
PHASES = {"both": "TabVFL", "no pretraining": "TabVFL w/o pretraining", "no fine-tuning": "TabVFL w/o finetuning"}
METRICS = {"6.2": "accuracy", "6.3": "f1", "6.4": "roc_auc"}
FEWEST = 2000  # rows, however small the share
EPOCHS, BATCH = 100, 4096  # of the seconds and of the bytes in Table IV
Group = Mapping[str, Any]


@dataclass(frozen=True)
class Less:
    """A plan with a share of its work, and what is less."""

    values: dict[str, Any]
    note: str


def read(name: str) -> tuple[list[str], dict[str, Any]]:
    """The data sets and the other values of a plan file."""
    values = read_values("tabvfl", name, VerticalPlan, ("datasets",))
    return list(values.pop("datasets")), values


def scaled(values: Mapping[str, Any], scale: float) -> Less:
    """Fewer runs first; then rows and epochs, each by the root of the share that is left."""
    runs = max(1, round(scale * values["runs"]))
    share = math.sqrt(min(1.0, scale * values["runs"] / runs))
    changes = {
        "runs": runs,
        "rows": max(FEWEST, round(share * values["rows"])),
        "pretraining": max(1, round(share * values["pretraining"])),
        "finetuning": max(1, round(share * values["finetuning"])),
    }
    said = [f"{changes[key]:,} of {values[key]:,} {word}" for key, word in _LESS if changes[key] < values[key]]
    return Less(dict(values) | changes, ", ".join(said))


_LESS = (("runs", "runs"), ("rows", "rows"), ("pretraining", "epochs of pretraining"), ("finetuning", "of fine-tuning"))


def trained(table: str, data: str, values: Mapping[str, Any], effort: Effort) -> dict[str, Any]:
    """The summary of a vertical run; what is finished of it is not run again."""
    path = effort.paths.get(data)
    plan = VerticalPlan(data=data, path=str(path) if path else None, seed=effort.seed, **values)
    digest = hashlib.blake2b(json.dumps(asdict(plan)).encode(), digest_size=8).hexdigest()
    folder = effort.folder / f"reproduce-tabvfl-{table}-{data}-{digest}"
    run = VerticalRun.open_or_create(folder, asdict(plan))
    command = f"seepage reproduce tabvfl --table {table} --scale {effort.scale:g}"
    return run_vertical(plan, run, jobs=effort.jobs, command=command, progress=effort.progress)


def here(datasets: list[str], effort: Effort) -> tuple[list[str], str]:
    """The data sets that can be had, and a sentence about the others."""
    left = [data for data in datasets if data in OWN and data not in effort.paths]
    said = f"left out, no file was given: {', '.join(DATASETS[data] for data in left)}" if left else ""
    return [data for data in datasets if data not in left], said


def table_iii(effort: Effort) -> Iterator[Line]:
    """Absent guests: the cache beside zeros, and both beside a run without failures."""
    datasets, values = read("failures")
    less = scaled(values, effort.scale)
    found, left = here(datasets, effort)
    for data in found:
        groups = trained("III", data, less.values, effort)["groups"]
        at = {
            (g["failure_method"], g["failure_probability"]): 100 * value(g, "quality/published/mean", "f1")["mean"]
            for g in groups
        }
        whole = at["none", 0.0]
        chances = [chance for chance in values["failure_probabilities"] if chance]
        gains = [at["cache", chance] - at["zeros", chance] for chance in chances]
        numbers = {
            ("TabVFL cache minus zeros", "f1_improvement_mean"): sum(gains) / len(gains),
            ("TabVFL cache minus zeros", "f1_improvement_max"): max(gains),
            ("TabVFL zeros", "f1_change_worst"): min(at["zeros", chance] for chance in chances) - whole,
            ("TabVFL cache", "f1_change_worst"): min(at["cache", chance] for chance in chances) - whole,
        }
        facts = {"n_guests": "2", "epochs": "120", "batch_size": "128", "p_fail": "0.2|0.35|0.5", "runs": "8"}
        for (method, metric), number in numbers.items():
            note = "; ".join(filter(None, (less.note, "points of F1", left)))
            yield _line("III", data, method, metric, {"mean": number}, less.values["runs"], facts, note)


def table_6_1(effort: Effort) -> Iterator[Line]:
    """Without pretraining, without fine-tuning."""
    datasets, values = read("ablation")
    less = scaled(values, effort.scale)
    found, left = here(datasets, effort)
    for data in found:
        for group in trained("6.1", data, less.values, effort)["groups"]:
            for metric in ("accuracy", "f1", "roc_auc"):
                number = value(group, "quality/published/mean", metric)
                note = "; ".join(filter(None, (less.note, left)))
                facts = {"predictors": "mean_of_six"}
                yield _line("6.1", data, PHASES[group["phases"]], metric, number, less.values["runs"], facts, note)


def change(table: str) -> Callable[[Effort], Iterator[Line]]:
    """Two guests instead of five, in percent of the value with five."""

    def run(effort: Effort) -> Iterator[Line]:
        datasets, values = read("guests")
        less = scaled(values, effort.scale)
        found, left = here(datasets, effort)
        metric = METRICS[table]
        facts = {
            "n_guests": "2",
            "compared_with": "n_guests 5",
            "batch_size": "64",
            "epochs_max": "300",
            "latent_dim": "5",
        }
        for data in found:
            # All three tables read the same runs.
            guests = {n: trained("6.2", data, less.values | {"guests": n}, effort)["groups"] for n in (2, 5)}
            means = {
                (n, group["design"]): value(group, "quality/published/mean", metric)["mean"]
                for n, groups in guests.items()
                for group in groups
            }
            for design in values["designs"]:
                number = {"mean": 100 * (means[2, design] / means[5, design] - 1)}
                note = "; ".join(filter(None, (less.note, left)))
                yield _line(table, data, DESIGNS[design], f"{metric}_change", number, less.values["runs"], facts, note)

    return run


def table_iv(effort: Effort) -> Iterator[Line]:
    """Seconds, megabytes and memory."""
    _, values = read("cost")
    less = scaled(values, effort.scale)
    data = "rice_msc" if "rice_msc" in effort.paths else "bank_marketing"
    stand = "" if data == "rice_msc" else "Bank Marketing, 16 columns, in place of Rice MSC, no file was given"
    note = "; ".join(filter(None, (less.note, stand, "guests one after the other")))
    summary = trained("IV", data, less.values, effort)
    for group in summary["groups"]:
        for metric, number in costs(group, summary["dataset"]["rows"]).items():
            if not number:
                continue  # nothing is sent
            network = metric.startswith("network")
            facts = {"n_guests": "5"} | (
                {"batch_size": str(BATCH), "iterations": "1"} if network else {"batch_size": "512", "epochs": "100"}
            )
            yield _line(
                "IV", "rice_msc", DESIGNS[group["design"]], metric, {"mean": number}, less.values["runs"], facts, note
            )


def costs(group: Group, rows: int) -> dict[str, float]:
    """Seconds of as many epochs as the paper has, megabytes of a batch as large as its, gigabytes."""
    found: dict[str, float] = {}
    for phase, word in (("pretraining", "pretraining"), ("fine-tuning", "finetuning")):
        epochs = value(group, f"cost/{phase}", "epochs")["mean"]
        sent = sum(each["mean"] for each in group["values"] if each["scope"] == f"bytes/{phase}")
        found[f"runtime_{word}"] = EPOCHS * value(group, f"cost/{phase}", "seconds")["mean"] / max(epochs, 1)
        found[f"network_{word}"] = BATCH * sent / max(epochs * round(0.7 * rows), 1) / 1e6
    found["runtime_total"] = found["runtime_pretraining"] + found["runtime_finetuning"]
    found["memory"] = value(group, "cost", "memory_mb")["mean"] / 1024
    return found


def value(group: Group, scope: str, metric: str) -> dict[str, Any]:
    """One number of a group with its interval."""
    for each in group["values"]:
        if (each["scope"], each["metric"]) == (scope, metric):
            return dict(each)
    return {"mean": math.nan}


def _line(
    table: str,
    data: str,
    method: str,
    metric: str,
    number: Mapping[str, Any],
    runs: int,
    facts: Mapping[str, str],
    note: str,
) -> Line:
    found = beside(published("tabvfl"), table, facts, dataset=DATASETS[data], method=method, metric=metric)
    scale = 100.0 if found is not None and found.unit == "percent" and metric == "accuracy" else 1.0
    low, high = number.get("low"), number.get("high")
    return Line(
        table=table,
        cell=f"{DATASETS[data]}, {method}",
        metric=metric,
        ours=scale * number["mean"],
        low=None if low is None else scale * low,
        high=None if high is None else scale * high,
        trials=runs,
        published=None if found is None else found.value,
        spread=None if found is None else found.spread,
        note=note,
    )


TABLES: dict[str, Callable[[Effort], Iterator[Line]]] = {
    "III": table_iii,
    "6.1": table_6_1,
    "IV": table_iv,
    "6.2": change("6.2"),
    "6.3": change("6.3"),
    "6.4": change("6.4"),
}
