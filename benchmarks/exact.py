"""Exact inversion: how many rows are read exactly, and how long a batch takes, on one core.

    python benchmarks/exact.py [--quick] [--only init,trained,...] --json

Every cell attacks at least 20 batches (3 with `--quick`), float32 updates, labels unknown. `emr` is the exact match
rate (a row counts if every cell is right, numbers within 0.319 deviations), `emr_strict` asks for numbers within 0.05
deviations of the input scale, `certified` is the share of rows that come with a proof and `certified_wrong` how many of
those are no record: it must be 0. The reference of `speedup_to_tableak` is TabLeak (30 restarts x 1,500 steps) by our
own engine on a batch of 16 in the same run.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from seepage._core import Streams, silent
from seepage.attacks import Exact, RowsAttack
from seepage.attacks.inversion import tableak
from seepage.data.request import Request
from seepage.data.source import open_source
from seepage.federation import Truth
from seepage.metrics import Evaluator, Reference
from seepage.observation import Claim, Knowledge, Observation
from seepage.results import ALL_COLUMNS, ATTACK, Measure
from seepage.studies.rows.making import train
from seepage.studies.rows.settings import RowsSettings

SEED = 7
TABLEAK = {"models": ("mlp_tableak",), "standardise_onehot": True, "local_statistics": False, "ranges_known": True}
STRICT = 0.05


@dataclass(frozen=True)
class Setting:
    """One cell of the table."""

    group: str
    name: str
    batch: int
    dataset: str = "adult_tableak"
    exposure: float = 0.0
    settings: dict[str, Any] = field(default_factory=lambda: dict(TABLEAK))


def all_settings() -> list[Setting]:
    """The cells, in the order of the issue that asked for them."""
    cells = [Setting("init", f"100-100, initial, batch {b}", b) for b in (8, 16, 32, 64, 96, 128)]
    cells += [
        Setting("trained", f"100-100, exposure {e}, batch {b}", b, exposure=e) for e in (5, 25) for b in (16, 32, 64)
    ]
    small = {"models": ("mlp",), "ranges_known": False}
    cells += [Setting("small", f"small MLP, initial, batch {b}", b, "adult", 0, small) for b in (8, 16, 24, 32)]
    cells += [Setting("small", f"small MLP, exposure 5, batch {b}", b, "adult", 5, small) for b in (8, 16)]
    cells += [
        Setting("data", f"{name}, 100-100, batch {b}", b, name)
        for name in ("german_credit", "law_school", "bank_marketing", "clinic")
        for b in (8, 16)
    ]
    one_row = [("ft_transformer", 0.0), ("ft_transformer", 0.05), ("resnet", 0.0), ("linear", 0.0)]
    cells += [
        Setting("single", f"{model}, exposure {e:g}, batch 1", 1, "adult", e, {"models": (model,)})
        for model, e in one_row
    ]
    cells += [
        Setting("fedavg", f"FedAvg, {rows} rows, {epochs} epochs, {parts} batches", rows // parts, settings=TABLEAK | {
            "protocol": "fedavg", "local_rows": rows, "local_epochs": epochs, "clients": 20,
        })
        for rows in (16, 32) for epochs in (1, 5, 10) for parts in (1, 4)
    ]  # fmt: skip
    wide = TABLEAK | {"model_options": {"width": "400", "depth": "3"}}
    cells += [Setting("wide", "400-400-400, initial, batch 128", 128, settings=wide)]
    return cells


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="3 batches per cell, small batches only")
    parser.add_argument("--only", default="", help="groups: init, trained, small, data, single, fedavg, wide")
    parser.add_argument("--batches", type=int, default=20)
    parser.add_argument("--json", action="store_true", help="print JSON (always done)")
    options = parser.parse_args()
    torch.set_num_threads(1)
    chosen = [s for s in all_settings() if not options.only or s.group in options.only.split(",")]
    if options.quick:
        chosen = [s for s in chosen if s.batch <= 16 and s.group in ("init", "small", "single") and s.exposure == 0]
    count = 3 if options.quick else options.batches
    results = {}
    for setting in chosen:
        results[setting.name] = measure(setting, count)
        if not options.quick:  # long: every finished cell is shown at once
            print(json.dumps({setting.name: results[setting.name]}), flush=True)
    document = {"benchmark": "exact", "batches": count, "threads": 1, "cells": results}
    if options.quick or "init" in (options.only or "init"):
        document["speedup_to_tableak"] = reference_seconds() / results["100-100, initial, batch 16"]["seconds_median"]
    print(json.dumps(document, indent=2))


def attacked(setting: Setting, count: int) -> list[tuple[Observation, Truth, Reference]]:
    """This many updates with their truth, from as many federations as are needed."""
    point = "final" if setting.exposure else "initialized"
    settings = RowsSettings(
        batch_sizes=(setting.batch,), attack_points=(point,), exposure=setting.exposure, labels_known=False,
        **setting.settings,
    )  # fmt: skip
    source = open_source(Request(data=setting.dataset, fallback="clinic"))
    found: list[tuple[Observation, Truth, Reference]] = []
    number = 0
    while len(found) < count:
        streams = Streams(SEED).child(number)
        trace, whole = train(source, settings, settings.models[0], "none", setting.batch, streams, silent)
        last = trace.points[-1]
        found += [(*pair, whole) for pair in zip(last.observations, last.truths, strict=True)]
        number += 1
    return found[:count]


def measure(setting: Setting, count: int) -> dict[str, float]:
    """One cell."""
    attack = Exact(compile="no")
    knowledge = Knowledge(
        labels=False,
        ranges=setting.settings.get("ranges_known", False),
        statistics=not setting.settings.get("local_statistics", True),
    )
    scores, seconds = [], []
    for number, (observation, truth, whole) in enumerate(attacked(setting, count)):
        begin = time.perf_counter()
        claim = attack([observation], Streams(SEED).child("attack", number))[0]
        seconds.append(time.perf_counter() - begin)
        scores.append(score(claim, truth, whole, knowledge))
    mean = {name: float(np.mean([each[name] for each in scores])) for name in scores[0]}
    mean["certified_wrong"] = float(np.sum([each["certified_wrong"] for each in scores]))
    return mean | {
        "batches": len(scores),
        "seconds_median": statistics.median(seconds),
        "seconds_max": max(seconds),
        "emr_lowest": float(min(each["emr"] for each in scores)),
    }


def score(claim: Claim, truth: Truth, whole: Reference, knowledge: Knowledge) -> dict[str, float]:
    """The numbers of one batch; a claim without rows has read nothing."""
    if claim.rows is None:
        return dict.fromkeys(("emr", "cells", "cells_tableak", "emr_strict", "certified", "certified_wrong"), 0.0)
    values = Evaluator(training=whole, deviation="global", draws=2)(claim, truth, knowledge, np.random.default_rng(0))
    true = truth.encoder.encode(truth.rows, truth.statistics).astype(np.float64)
    near = np.abs(true[:, None] - claim.rows[None]).max(-1) < STRICT
    certified = claim.certified if claim.certified is not None else np.zeros(len(true), dtype=bool)
    return {
        "emr": values[Measure(ATTACK, ALL_COLUMNS, "emr")],
        "cells": values[Measure(ATTACK, ALL_COLUMNS, "accuracy")],
        "cells_tableak": values[Measure(ATTACK, ALL_COLUMNS, "accuracy_by_cells")],
        "emr_strict": float(near.any(1).mean()),
        "certified": float(certified.mean()),
        "certified_wrong": float((certified & ~near.any(0)).sum()),
    }


def reference_seconds() -> float:
    """Seconds of TabLeak on one batch of 16, on the same core."""
    setting = next(s for s in all_settings() if s.batch == 16)
    observation = attacked(setting, 1)[0][0]
    attack: RowsAttack = tableak()
    begin = time.perf_counter()
    attack([observation], Streams(SEED))
    return time.perf_counter() - begin


if __name__ == "__main__":
    main()
