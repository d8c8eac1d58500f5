"""Several rounds on the same rows: how many rows are read and proven, and how long that takes, on one core.

    python benchmarks/rounds.py [--quick] [--only small-32,...] [--store] --json

Every cell attacks 20 batches (3 with `--quick`), float32 gradients, labels unknown, ranges and statistics known;
between two rounds 20 steps on other clients' rows move the model. `fedavg-32` and `overlap-64` are rounds of the study
of rows itself: five local epochs of four mini batches in each; and FedSGD batches of half of a client's 128 rows, drawn
anew in every epoch. `read`: the share of the rows that are found, every input within 0.02; `certified`: the share that
comes with a proof; `certified_wrong` must be 0. `one_round_certified`: `exact` on the first round alone, in the same
run, as the reference. Seconds are those that one core computes, whatever else the machine does. `--store` puts the
cells into `docs/explanation/rounds.json`, from which the page's table and its picture are made.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from seepage._core import Streams, silent
from seepage.attacks import Exact
from seepage.data.request import Request
from seepage.data.source import Source, open_source
from seepage.federation import Truth
from seepage.observation import Claim, Observation
from seepage.studies.rows.making import train
from seepage.studies.rows.settings import RowsSettings

sys.path.insert(0, str(Path(__file__).parent))
from page_tables import filled

BETWEEN, RATE, OTHERS = 20, 0.05, 64
NEAR = 0.02


@dataclass(frozen=True)
class Setting:
    """One cell."""

    name: str
    rows: int
    rounds: int
    data: str = "adult"
    model: str = "mlp"
    more: dict[str, Any] = field(default_factory=dict)
    group: str = ""


TABLEAK = {"standardise_onehot": True}
FEDAVG = {"protocol": "fedavg", "batch_sizes": (8,), "local_rows": 32, "local_epochs": 5, "exposure": 25}
OVERLAPPING = {"exposure": 3}  # clients of 128 rows: every round is another half, and every row is in three of six
SETTINGS = (
    Setting("small-32", 32, 2),
    Setting("small-40", 40, 3),
    Setting("census-64", 64, 5, "census_income"),
    Setting("wide-96", 96, 5, "adult_tableak", "mlp_tableak", TABLEAK),
    Setting("fedavg-32", 32, 5, "adult_tableak", "mlp_tableak", TABLEAK | FEDAVG),
    Setting("overlap-64", 64, 6, "adult_tableak", "mlp_tableak", TABLEAK | OVERLAPPING),
)
CURVE = tuple(
    Setting(f"curve-{rows}-{rounds}", rows, rounds, group="curve")
    for rows in (24, 32, 36, 40)
    for rounds in (1, 2, 3, 5)
)
TOLD = {
    "small-32": "Adult, 32 rows, net 32 wide",
    "small-40": "Adult, 40 rows, the same net",
    "census-64": "Census-Income, 64 rows, the same net",
    "wide-96": "Adult, 96 rows, net 100-100",
    "fedavg-32": "Adult, FedAvg, 32 rows, 5 epochs of 4 mini batches, net 100-100",
    "overlap-64": "Adult, FedSGD, batches of 64 out of 128 rows, net 100-100",
}
PAGE = Path(__file__).parents[1] / "docs" / "explanation" / "exact-inversion.md"
STORED = PAGE.parent / "rounds.json"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="3 batches of the first cell")
    parser.add_argument("--json", action="store_true", help="print JSON (always done)")
    parser.add_argument("--only", default="", help="cells, separated by commas")
    parser.add_argument("--store", action="store_true", help="keep the cells, and make the page's table of them")
    parser.add_argument("--batches", type=int, help="batches of a cell")
    options = parser.parse_args()
    torch.set_num_threads(1)
    names = [name for name in options.only.split(",") if name] or (["small-32"] if options.quick else [])
    chosen = [each for each in (*SETTINGS, *CURVE) if not names or each.name in names or each.group in names]
    count = options.batches or (3 if options.quick else 20)
    cells = []
    for each in chosen:
        cells.append(measured(each, min(count, 5) if each.group else count))
        if options.store:
            kept = {cell["cell"]: cell for cell in json.loads(STORED.read_text())} if STORED.exists() else {}
            kept[each.name] = cells[-1]
            STORED.write_text(json.dumps(list(kept.values()), indent=1) + "\n", encoding="utf-8")
            PAGE.write_text(with_table(PAGE.read_text(), list(kept.values())), encoding="utf-8")
    print(json.dumps({"benchmark": "rounds", "cells": cells}, indent=2))


def with_table(page: str, cells: list[dict[str, Any]]) -> str:
    """The page with its table made from stored cells."""
    head = ("batches, ranges known", "rounds", "batches", "read", "certified", "wrong", "one round: certified")
    lines = [f"| {' | '.join(head)} | seconds, mean and most |"]
    lines.append("| --- | " + " | ".join(["---:"] * 7) + " |")
    for cell in cells:
        if cell["cell"] in TOLD:
            shares = [f"{100 * cell[name]:.1f} %" for name in ("read", "certified")]
            lines.append(
                f"| {TOLD[cell['cell']]} | {cell['rounds']} | {cell['batches']} | {shares[0]} | {shares[1]} | "
                f"{cell['certified_wrong']} | {100 * cell['one_round_certified']:.0f} % | {cell['seconds']:.0f}, "
                f"{cell['seconds_most']:.0f} |"
            )
    return filled(page, {"rounds": "\n".join(lines)})


def measured(setting: Setting, count: int) -> dict[str, object]:
    """One cell over so many batches."""
    usual = {
        "models": (setting.model,), "batch_sizes": (setting.rows,), "attack_points": ("initialized",), "exposure": 0,
        "labels_known": False, "local_statistics": False, "ranges_known": True, "clients": count + 1,
        "trials": count + 1,
    }  # fmt: skip
    settings = RowsSettings(**(usual | setting.more))
    source = open_source(Request(data=setting.data))
    if setting.more.keys() & {"exposure"}:
        return simulated(setting, settings.model_copy(update={"rounds": (setting.rounds,)}), source, count)
    point = train(source, settings, setting.model, "none", setting.rows, Streams(11).child(0), silent)[0].points[-1]
    totals = {"read": 0, "certified": 0, "certified_wrong": 0, "one_round_certified": 0}
    seconds, notes = [], []
    for number in range(count):
        x, seen = rounds(point.observations[number], point.truths[number], point.truths[number + 1], setting.rounds)
        begin = time.process_time()
        claim = together_claim(seen, number) if len(seen) > 1 else alone_claim(seen[0], number)
        seconds.append(time.process_time() - begin)
        for name, value in counted(x, claim).items():
            totals[name] += value
        alone = alone_claim(seen[0], number)
        totals["one_round_certified"] += 0 if alone.certified is None else int(alone.certified.sum())
        notes += [] if claim.certified is not None and claim.certified.all() else [claim.note]
    shares = {name: round(value / (count * setting.rows), 4) for name, value in totals.items()}
    shares["certified_wrong"] = totals["certified_wrong"]
    return {
        "cell": setting.name, "rows": setting.rows, "rounds": setting.rounds, "batches": count, **shares,
        "seconds": round(float(np.mean(seconds)), 2), "seconds_most": round(max(seconds), 2), "notes": notes[:5],
    }  # fmt: skip


def alone_claim(observation: Observation, number: int) -> Claim:
    (claim,) = Exact(restarts=2, starts=2, compile="no")([observation], Streams(number))
    return claim


def together_claim(seen: list[Observation], number: int) -> Claim:
    (claim,) = Exact(compile="no")([replace(seen[-1], earlier=tuple(seen[:-1]))], Streams(number))
    return claim


def simulated(setting: Setting, settings: RowsSettings, source: Source, count: int) -> dict[str, object]:
    """A cell whose rounds are those of the study itself."""
    if setting.name.startswith("overlap"):
        source = replace(source, table=source.table.take(np.arange(int((count + 1) * 128 / 0.7) + 128)))
    batch = settings.batch_sizes[0]
    (point,) = train(source, settings, setting.model, "none", batch, Streams(11).child(0), silent)[0].points
    totals = {"read": 0, "near": 0, "certified": 0, "certified_wrong": 0, "one_round_read": 0, "one_round_certified": 0}
    seconds = []
    for number, (observation, truth) in enumerate(zip(point.observations, point.truths, strict=True)):
        if number == count:
            break
        x, _ = encoded(truth, truth.rows)
        begin = time.process_time()
        (claim,) = Exact(compile="no")([observation], Streams(number))
        seconds.append(time.process_time() - begin)
        (alone,) = Exact(compile="no")([observation.rounds[-1]], Streams(number))
        for name, value in counted(x, claim).items():
            totals[name] += value
        totals["near"] += counted(x, claim, 0.1).get("read", 0)
        totals["one_round_read"] += counted(x, alone).get("read", 0)
        totals["one_round_certified"] += counted(x, alone).get("certified", 0)
    shares = {name: round(value / (count * setting.rows), 4) for name, value in totals.items()}
    shares["certified_wrong"] = totals["certified_wrong"]
    return {
        "cell": setting.name, "rows": setting.rows, "rounds": setting.rounds, "batches": count, **shares,
        "seconds": round(float(np.mean(seconds)), 2), "seconds_most": round(max(seconds), 2),
    }  # fmt: skip


def rounds(first: Observation, truth: Truth, other: Truth, count: int) -> tuple[Tensor, list[Observation]]:
    """The client's rows, and what it sends of them while other rows move the model."""
    x, y = encoded(truth, truth.rows)
    others, labels = encoded(truth, other.client_rows)
    learner, weights, seen = first.learner, dict(first.parameters), []
    drawn = torch.Generator().manual_seed(1)
    for _ in range(count):
        seen.append(replace(first, parameters=weights, update=learner.gradient(weights, x, y)))
        for _ in range(BETWEEN):
            some = torch.randint(len(others), (OTHERS,), generator=drawn)
            slope = learner.gradient(weights, others[some], labels[some])
            weights = {name: value - RATE * slope[name] for name, value in weights.items()}
    return x, seen


def encoded(truth: Truth, table: Any) -> tuple[Tensor, Tensor]:
    x = torch.from_numpy(truth.encoder.encode(table, truth.statistics)).float()
    return x, torch.from_numpy(np.asarray(table.target)).float()


def counted(x: Tensor, claim: Claim, near: float = NEAR) -> dict[str, int]:
    """Rows that were found, proven, and proven wrongly."""
    if claim.rows is None or claim.certified is None:
        return {}
    apart = torch.cdist(x.double(), torch.from_numpy(claim.rows).double())
    proven = torch.from_numpy(claim.certified)
    return {
        "read": int((apart.min(1).values < near).sum()),
        "certified": int(proven.sum()),
        "certified_wrong": int((apart.min(0).values[proven] > near).sum()),
    }


if __name__ == "__main__":
    main()
