"""A server that cheats: rows read, and whether clients notice.

    python benchmarks/malicious.py --json              rows read by attack and size, 20 batches a cell
    python benchmarks/malicious.py --only bars --json  the two cells that have a bar
    python benchmarks/malicious.py --calibrate         training histories: write the limits of the client's checks
    python benchmarks/malicious.py --detect --json     false alarms and misses, on other histories than the limits'
    python benchmarks/malicious.py --store             run the cells, and write numbers and page
    python benchmarks/malicious.py --page              write the page from stored numbers

Numbers are kept in docs/explanation/cheating-server.json; the page's tables are between its comments.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

from seepage._core import NotApplicable, Streams
from seepage.data.request import Request
from seepage.data.source import open_source
from seepage.defenses import Undefended
from seepage.defenses.received import check_received, measured
from seepage.federation import FedAvg
from seepage.models import LocalTraining
from seepage.plans import registry
from seepage.studies.servers.clients import Setting, prepared
from seepage.studies.servers.settings import ServersSettings

sys.path.insert(0, str(Path(__file__).parent))
from page_tables import filled

ROOT = Path(__file__).parent.parent
STORED, PAGE = (ROOT / "docs" / "explanation" / f"cheating-server.{end}" for end in ("json", "md"))
LIMITS = ROOT / "src" / "seepage" / "defenses" / "received.json"
WIDE, SHALLOW = "mlp:width=1000:activation=relu:norm=none", "mlp:width=1000:depth=1:activation=relu:norm=none"
TABLES = ("adult", "bank_marketing", "clinic", "german_credit")
HISTORIES = ("mlp", "mlp_tableak", WIDE, "resnet", "ft_transformer")
OPTIMISERS = (("sgd", 0.01), ("sgd", 0.1), ("adam", 0.001))
ROUNDS, LONGER, STEPS, OWN = 8, 12, 10, 256  # of a history; rows that the client counts on
BARS = [
    {"attacks": ["codes"], "batch_sizes": [512], "bar": 0.99},
    {"attacks": ["cuts"], "batch_sizes": [5000], "rounds": [5], "bar": 0.90},
]
CELLS: list[dict[str, Any]] = [
    {"attacks": ["bins", "codes", "module", "disguised"], "batch_sizes": [64, 512]},
    {"attacks": ["bins", "codes"], "batch_sizes": [64, 512], "models": [SHALLOW]},
    {"attacks": ["codes", "module"], "batch_sizes": [64, 512], "protocols": ["fedavg"]},
    {"attacks": ["cuts"], "batch_sizes": [512], "rounds": [3], "protocols": ["fedavg"]},
    {"attacks": ["codes"], "batch_sizes": [512], "public": "marginals"},
    {"attacks": ["codes"], "batch_sizes": [512], "public": "ranges"},
    {"attacks": ["module"], "batch_sizes": [512], "models": ["ft_transformer"]},
    {"attacks": ["bins", "codes"], "batch_sizes": [64], "models": ["mlp", "ft_transformer"]},
]
LARGE: list[dict[str, Any]] = [
    {"attacks": ["module"], "batch_sizes": [10000], "trials": 3},
    {"attacks": ["cuts"], "batch_sizes": [10000], "rounds": [10], "trials": 2},
]
MALICIOUS = [("bins", 1), ("codes", 1), ("cuts", 3), ("module", 1)]
ADAPTIVE = ["disguised:0.05", "disguised:0.2", "disguised:0.5"]
ATTACKED = ("mlp_tableak", WIDE)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print numbers")
    for name in ("calibrate", "detect", "store", "page"):
        parser.add_argument(f"--{name}", action="store_true")
    parser.add_argument("--only", choices=["bars", "cells", "large"])
    parser.add_argument("--trials", type=int, default=20)
    given = parser.parse_args()
    stored = json.loads(STORED.read_text()) if STORED.exists() else {}
    if given.calibrate:
        calibrate()
    elif given.page:
        PAGE.write_text(with_tables(PAGE.read_text(), stored))
    else:
        names = [given.only] if given.only else ["bars", "cells", "large"]
        found = {"detector": detected()} if given.detect else {name: rows(name, given.trials) for name in names}
        print(json.dumps(found, indent=1), flush=True)
        if given.store:
            STORED.write_text(json.dumps(stored | found, indent=1) + "\n")


def rows(name: str, trials: int) -> list[dict[str, Any]]:
    """Every cell of a group."""
    import seepage

    cells = []
    for audit in {"bars": BARS, "cells": CELLS, "large": LARGE}[name]:
        begin = time.perf_counter()
        given = {"data": "adult", "trials": trials, "models": [WIDE]} | {k: v for k, v in audit.items() if k != "bar"}
        summary = seepage.audit(study="servers", **given)
        for cell in summary.cells:
            kept = {n: v.to_dict() for n, v in cell.metrics.items() if v is not None and not n.startswith("noticed_")}
            told = {"public": audit.get("public", "sample"), "trials": cell.trials, "checks": list(cell.checks)}
            told |= {"notes": list(cell.notes), "metrics": kept, "bar": audit.get("bar")}
            cells.append(cell.place | told | {"seconds": round(cell.seconds / cell.trials, 2)})
        print(name, audit, f"{time.perf_counter() - begin:.0f} s", flush=True)
    return cells


def history(
    setting: Setting, optimiser: str, rate: float, seed: int, rounds: int
) -> Iterator[tuple[Any, Any, torch.Tensor]]:
    """Rounds of honest training: the weights of a round, those before, and a client's own rows."""
    generator = np.random.default_rng(seed)
    client = setting.client(generator)
    training = LocalTraining(optimiser=registry.make("optimiser", optimiser, "rows"))
    size = min(32, len(client.x))
    compute = FedAvg(batch_size=size, learning_rate=rate, training=training).computation(setting.learner, Undefended())
    before, now = None, setting.learner.initial()
    for _ in range(rounds):
        yield now, before, client.x[:OWN]
        plan = generator.integers(0, len(client.x), (STEPS, size))
        with torch.no_grad():
            change = compute(now, client.x[plan][None], client.y[plan][None], torch.Generator())
        before, now = now, {name: value + change[name][0] for name, value in now.items()}


def honest(
    seeds: tuple[int, ...], rounds: int = ROUNDS
) -> Iterator[tuple[dict[str, Any], Setting, tuple[Any, Any, torch.Tensor]]]:
    """All rounds of all histories."""
    for table in TABLES:
        source = open_source(Request(data=table))
        for model in HISTORIES:
            for seed in seeds:
                settings = ServersSettings(seed=seed)
                setting = prepared(source, settings, model, "fedsgd", min(512, int(0.6 * len(source.table))))
                for optimiser, rate in OPTIMISERS:
                    where = {"table": table, "model": model, "optimiser": optimiser, "rate": rate, "seed": seed}
                    for each in history(setting, optimiser, rate, seed, rounds):
                        yield where, setting, each


def calibrate() -> None:
    """Limits of every check: half above the most that training made, over all tables and models."""
    most: dict[str, float] = {}
    count = 0
    for _, setting, (now, before, own) in honest((0,)):
        count += 1
        for name, value in measured(setting.learner, now, before=before, rows=own).items():
            most[name] = max(most.get(name, 0.0), value)
    limits = {name: round(1.5 * value + 0.01, 4) for name, value in most.items()}
    told = {"histories": f"{count} rounds", "tables": TABLES, "models": HISTORIES, "seen": most, "limits": limits}
    LIMITS.write_text(json.dumps(told, indent=1) + "\n")
    print(json.dumps(told, indent=1))


def detected() -> dict[str, Any]:
    """False alarms on other and longer histories than those of the limits, and malicious models that are found."""
    alarms, count, by_check = 0, 0, {}
    for _, setting, (now, before, own) in honest((11,), LONGER):
        findings = check_received(setting.learner, now, before=before, rows=own)
        count, alarms = count + 1, alarms + bool(findings)
        for each in findings:
            by_check[each.check] = by_check.get(each.check, 0) + 1
    found = {"rounds": count, "false_alarms": alarms, "share": alarms / count, "by_check": by_check}
    return {"honest": found, "malicious": malicious([*MALICIOUS]), "adaptive": malicious([(a, 1) for a in ADAPTIVE])}


def malicious(attacks: list[tuple[str, int]]) -> dict[str, Any]:
    """How many models of each attack raise an alarm; by weights alone, and with the client's own rows."""
    told: dict[str, Any] = {}
    for table in TABLES:
        source = open_source(Request(data=table))
        for model in ATTACKED:
            for size in (64, 256):
                setting = prepared(source, ServersSettings(), model, "fedsgd", size)
                for name, rounds in attacks:
                    for seed in range(3):
                        _one(told, setting, name, rounds, seed)
    return told


def _one(told: dict[str, Any], setting: Setting, name: str, rounds: int, seed: int) -> None:
    streams = Streams(seed)
    client = setting.client(streams.numpy("rows"))
    scene = setting.scene(client.exchange, rounds, streams.numpy("public"))
    entry = told.setdefault(name, {"models": 0, "found": 0, "found_by_weights": 0, "does_not_fit": 0, "checks": {}})
    try:
        trap = registry.make("attack", name, "servers").prepare(scene, streams)[-1]
    except NotApplicable:
        entry["does_not_fit"] += 1
        return
    before = setting.learner.initial()
    findings = check_received(setting.learner, trap.parameters, before=before, rows=client.x[:OWN])
    alone = check_received(setting.learner, trap.parameters)
    entry["models"] += 1
    entry["found"] += bool(findings)
    entry["found_by_weights"] += bool(alone)
    for each in findings:
        entry["checks"][each.check] = entry["checks"].get(each.check, 0) + 1


def with_tables(page: str, stored: dict[str, Any]) -> str:
    """The page with its tables made from stored numbers."""
    tables = {"rows": rows_table(stored), "detector": detector_table(stored)}
    return filled(page, tables)


def rows_table(stored: dict[str, Any]) -> str:
    """Every cell."""
    head = ["attack", "protocol", "model", "rows", "rounds", "knows", "exact", "near", "proven", "wrong proofs"]
    head += ["clients", "seconds"]
    lines = []
    for cell in [*stored.get("bars", []), *stored.get("cells", []), *stored.get("large", [])]:
        model = cell["model"].replace(":activation=relu:norm=none", "")
        line = [f"`{cell['attack']}`", cell["protocol"], f"`{model}`", f"{cell['batch_size']:,}", str(cell["rounds"])]
        if "exact" not in cell["metrics"]:
            lines.append([*line, cell["public"], "does not apply", "", "", "", str(cell["trials"]), ""])
            continue
        metrics = cell["metrics"]
        shares = [interval(metrics[name]) for name in ("exact", "emr", "certified")]
        wrong = f"{metrics['certified_wrong']['mean'] * cell['trials']:.0f}"
        lines.append([*line, cell["public"], *shares, wrong, str(cell["trials"]), f"{cell['seconds']:.1f}"])
    return rendered(head, lines)


def interval(value: dict[str, Any]) -> str:
    if value["low"] is None:
        return f"{value['mean']:.3f}"
    return f"{value['mean']:.3f} ({value['low']:.3f} to {value['high']:.3f})"


def detector_table(stored: dict[str, Any]) -> str:
    """False alarms, and what is found of each attack."""
    found = stored.get("detector")
    if not found:
        return "Not measured yet."
    honest_ = found["honest"]
    lines = [["honest training", f"{honest_['rounds']:,}", f"{honest_['share']:.2%} (false alarms)", "", ""]]
    for kind in ("malicious", "adaptive"):
        for name, entry in found[kind].items():
            if not entry["models"]:
                continue
            checks = ", ".join(sorted(entry["checks"], key=lambda check: -entry["checks"][check])[:3])
            shares = [f"{entry[each] / entry['models']:.1%}" for each in ("found", "found_by_weights")]
            lines.append([f"`{name}`", f"{entry['models']}", *shares, checks])
    return rendered(["weights", "models", "found", "found without own rows or the last round", "by"], lines)


def rendered(head: list[str], lines: list[list[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, ["---"] * len(head), *lines])


if __name__ == "__main__":
    main()
