"""What defences leave to be read by an attacker who is blind to them, and by one who knows their settings.

    python benchmarks/advise.py --out FOLDER [--data ...] [--defenses ...] [--seeds 51 52] [--updates 4] [--store]

TabLeak's net (100-100) before training, FedSGD, batches of 8, known labels, ranges and statistics. Naive is the attack
``fast``, adaptive the attack ``adaptive``, both with ``--steps`` of optimisation. A cell is one defence on one table:
``--updates`` updates of each of the federations ``--seeds``, the same for both attackers. Shares of cells are means
with intervals over updates; `gain` is adaptive minus naive on the same updates. Verdicts are those of
``results/defended.py``. About a minute for each cell on a core. Finished cells stay in the folder, so that a stopped
run goes on; ``--store`` puts all of them into the page ``docs/how-to/defences.md`` and its numbers.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch

from seepage._core import Streams, silent
from seepage.attacks import attacked
from seepage.data.request import Request
from seepage.data.source import Source, open_source
from seepage.federation import AttackPoint
from seepage.metrics import Evaluator
from seepage.plans import registry
from seepage.results import ALL_COLUMNS, ATTACK, BASELINES, Interval, Measure, bootstrap
from seepage.results.defended import judge
from seepage.studies.rows.making import knowledge_of, train
from seepage.studies.rows.settings import RowsSettings

sys.path.insert(0, str(Path(__file__).parent))
from page_tables import filled

DATA = ("adult", "bank_marketing", "california_housing", "clinic")
DEFENSES = (
    "none", "update_clipping:0.1", "dp_fedavg:clip=0.1:noise=0.1:side=server", "gaussian_noise:0.01",
    "dp_fedavg:clip=0.5:noise=0.01", "dp_sgd:clip=1:noise=0.1", "local_dp:epsilon=1000", "top_k:0.1", "random_k:0.1",
    "gradient_pruning:0.9", "quantisation:4", "quantisation:1", "rounding:0.01", "first_layer_withheld", "soteria:0.4",
    "precode:32", "mixup:1", "label_smoothing:0.2", "dp_sgd:clip=1:noise=1", "rounding:step=0.01:dither=true",
)  # fmt: skip
CLASSES_ONLY = ("label_smoothing",)  # cannot be on a table whose target is a number
ATTACKS = {"naive": "fast", "adaptive": "adaptive"}
PAGE = Path(__file__).parents[1] / "docs" / "how-to" / "defences.md"
STORED = PAGE.with_suffix(".json")
TITLES = {
    "adult": "Adult",
    "bank_marketing": "Bank Marketing",
    "california_housing": "California Housing",
    "clinic": "`clinic`",
}


@dataclass(frozen=True, kw_only=True)
class Effort:
    """How much is spent on a cell. All cells of a folder have the same."""

    batch_size: int = 8
    seeds: tuple[int, ...] = (51, 52)  # 7, 11, 21, 22, 31, 32 and 41 were looked at while the attack was made
    updates: int = 4
    steps: int = 200


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="the folder of finished cells")
    parser.add_argument("--data", nargs="+", choices=DATA, default=DATA)
    parser.add_argument("--defenses", nargs="+", default=DEFENSES)
    parser.add_argument("--batch-size", type=int, default=Effort.batch_size)
    parser.add_argument("--seeds", type=int, nargs="+", default=Effort.seeds, help="federations")
    parser.add_argument("--updates", type=int, default=Effort.updates, help="attacked in each federation")
    parser.add_argument("--steps", type=int, default=Effort.steps, help="of either attack's optimisation")
    parser.add_argument("--store", action="store_true", help="put all finished cells into the docs, run nothing")
    options = parser.parse_args()
    torch.set_num_threads(1)
    effort = Effort(
        batch_size=options.batch_size, seeds=tuple(options.seeds), updates=options.updates, steps=options.steps
    )
    if options.store:
        store(options.out)
        return
    begun(options.out, effort)
    for defense in options.defenses:
        for data in options.data:
            place = options.out / f"{data},{re.sub(r'[^a-z0-9_.=]', ',', defense)}.json"
            if place.exists() or not possible(data, defense):
                continue
            found = json.dumps({"data": data, **measured(data, defense, effort)})
            write(place, found)
            print(found, flush=True)


def possible(data: str, defense: str) -> bool:
    """Whether a defence can be on a table."""
    return data != "california_housing" or defense.partition(":")[0] not in CLASSES_ONLY


def begun(folder: Path, effort: Effort) -> None:
    """The folder, if its cells have the same effort behind them."""
    folder.mkdir(parents=True, exist_ok=True)
    plan, own = folder / "plan", json.dumps(asdict(effort))
    if plan.exists() and plan.read_text() != own:
        raise SystemExit(f"{folder} holds a run with other settings: {plan.read_text()}; choose another folder.")
    write(plan, own)


def write(place: Path, text: str) -> None:
    """All of a file or nothing of it."""
    part = place.with_suffix(".part")
    part.write_text(text, encoding="utf-8")
    part.replace(place)


@cache
def opened(data: str) -> Source:
    return open_source(Request(data=data))


def settings_of(batch: int) -> RowsSettings:
    return RowsSettings(
        batch_sizes=(batch,), attack_points=("initialized",), exposure=0, models=("mlp_tableak",),
        local_statistics=False, standardise_onehot=True, ranges_known=True, deviation="global",
    )  # fmt: skip


def measured(data: str, defense: str, effort: Effort) -> dict[str, Any]:
    """Both attackers on the same updates."""
    shares: dict[str, list[float]] = {}
    seconds = dict.fromkeys(ATTACKS, 0.0)
    settings = settings_of(effort.batch_size)
    for seed in effort.seeds:
        trace, whole = train(opened(data), settings, "mlp_tableak", defense, effort.batch_size, Streams(seed), silent)
        evaluator = Evaluator(training=whole, deviation="global")
        for who, name in ATTACKS.items():
            begin = time.process_time()
            found = scored(trace.points[0], f"{name}:steps={effort.steps}", seed, effort.updates, evaluator, settings)
            seconds[who] += time.process_time() - begin
            shares.setdefault(who, []).extend(found.pop(ATTACK))
            if who == "naive":  # guesses are the same for both
                for guess, values in found.items():
                    shares.setdefault(guess, []).extend(values)
    best = max((shares[guess] for guess in BASELINES), key=lambda each: float(np.nanmean(each)))
    read = {who: bootstrap(shares[who]) for who in ATTACKS}
    many = len(shares["naive"])
    return {
        "defense": defense,
        "batch_size": effort.batch_size,
        "updates": many,
        **{who: _told(each) for who, each in read.items()},
        "guess": _told(bootstrap(best)),
        "gain": _told(bootstrap(list(np.subtract(shares["adaptive"], shares["naive"])))),
        "over_guess": _told(bootstrap(list(np.subtract(shares["adaptive"], best)))),
        "verdict": judge(read["naive"], read["adaptive"], bootstrap(best)).value,
        "seconds": {who: round(each / many, 1) for who, each in seconds.items()},
    }


def scored(
    point: AttackPoint, attack: str, seed: int, updates: int, evaluator: Evaluator, settings: RowsSettings
) -> dict[str, list[float]]:
    """The share of cells that an attack reads of each update, and that guesses get."""
    claims = attacked(registry.make("attack", attack, "rows"), point.observations[:updates], Streams(seed + 1000))
    found: dict[str, list[float]] = {}
    for place, claim in enumerate(claims):
        values = evaluator(claim, point.truths[place], knowledge_of(settings), np.random.default_rng(place))
        for who in (ATTACK, *BASELINES):
            found.setdefault(who, []).append(values.get(Measure(who, ALL_COLUMNS, "accuracy"), float("nan")))
    return found


def _told(interval: Interval | None) -> dict[str, Any] | None:
    return None if interval is None else {k: v if v is None else round(v, 4) for k, v in asdict(interval).items()}


def store(folder: Path) -> None:
    """Finished cells to the docs, of defences that are finished on every table."""
    cells = {(cell["defense"], cell["data"]): cell for cell in map(_read, folder.glob("*.json"))}
    wanted = {defense: [data for data in DATA if possible(data, defense)] for defense in DEFENSES}
    finished = {defense: every for defense, every in wanted.items() if all((defense, data) in cells for data in every)}
    ordered = [cells[defense, data] for defense, every in finished.items() for data in every]
    stored = {"benchmark": "advise", **_read(folder / "plan"), "cells": ordered}
    write(STORED, json.dumps(stored, indent=1) + "\n")
    PAGE.write_text(with_tables(PAGE.read_text(), stored), encoding="utf-8")


def _read(place: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(place.read_text())
    return found


def with_tables(page: str, stored: dict[str, Any]) -> str:
    """The page with its table made from stored cells."""
    lines = [f"| defence | {' | '.join(TITLES.values())} |", "| --- |" + " --- |" * len(DATA)]
    cells = {(cell["defense"], cell["data"]): cell for cell in stored["cells"]}
    for defense in dict.fromkeys(cell["defense"] for cell in stored["cells"]):
        row = [_cell(cells.get((defense, data))) for data in DATA]
        lines.append(f"| `{defense}` | {' | '.join(row)} |")
    guesses = [_guess([cell for cell in stored["cells"] if cell["data"] == data]) for data in DATA]
    lines.append(f"| *best guess* | {' | '.join(guesses)} |")
    return filled(page, {"defences": "\n".join(lines)})


def _cell(cell: dict[str, Any] | None) -> str:
    if cell is None:
        return ""
    naive, adaptive = cell["naive"], cell["adaptive"]
    ends = f"{100 * adaptive['low']:.0f}-{100 * adaptive['high']:.0f}"
    return f"{100 * naive['mean']:.0f}, {100 * adaptive['mean']:.0f} ({ends}) {cell['verdict']}"


def _guess(cells: Sequence[dict[str, Any]]) -> str:
    return f"{100 * max(cell['guess']['mean'] for cell in cells):.0f}" if cells else ""


if __name__ == "__main__":
    main()
