"""What defences leave to be read by an attacker who is blind to them, and by one who knows their settings.

    python benchmarks/advise.py [--data adult] [--batches 8 32] [--updates 4] [--defenses ...] [--seed 7] > advise.json

TabLeak's net (100-100) before training, FedSGD, known labels, ranges and statistics. Naive is the attack ``fast``,
adaptive the attack ``adaptive``. Shares of cells are means over updates with intervals; `gain` is adaptive minus naive
on the same updates. Verdicts are those of ``results/defended.py``. About a minute for each defence and batch size of
32 on a core.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import asdict
from typing import Any

import numpy as np
import torch

from seepage._core import Streams, silent
from seepage.attacks import attacked
from seepage.data.request import Request
from seepage.data.source import Source, open_source
from seepage.metrics import Evaluator
from seepage.plans import registry
from seepage.results import ALL_COLUMNS, ATTACK, BASELINES, Interval, Measure, bootstrap
from seepage.results.defended import judge
from seepage.studies.rows.making import knowledge_of, train
from seepage.studies.rows.settings import RowsSettings

DATA = ("adult", "bank_marketing", "california_housing", "clinic")
DEFENSES = (
    "none", "gaussian_noise:0.001", "gaussian_noise:0.01", "dp_sgd:clip=1:noise=0.1", "dp_sgd:clip=1:noise=1",
    "update_clipping:0.1", "dp_fedavg:clip=0.5:noise=0.01", "local_dp:epsilon=1000", "top_k:0.1",
    "gradient_pruning:0.9", "random_k:0.1", "quantisation:4", "quantisation:1", "rounding:0.01",
    "rounding:step=0.01:dither=true", "first_layer_withheld", "soteria:0.4", "mixup:1", "label_smoothing:0.2",
)  # fmt: skip
ATTACKS = {"naive": "fast", "adaptive": "adaptive"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", choices=DATA, default="adult")
    parser.add_argument("--batches", type=int, nargs="+", default=[8, 32])
    parser.add_argument("--updates", type=int, default=4, help="attacked with each setting")
    parser.add_argument("--defenses", nargs="+", default=DEFENSES)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    torch.set_num_threads(1)
    source = open_source(Request(data=options.data))
    found = []
    for batch in options.batches:
        for defense in options.defenses:
            found.append(measured(source, defense, batch, options.updates, options.seed))
            print(json.dumps(found[-1]), file=sys.stderr, flush=True)
    print(json.dumps({"benchmark": "advise", "data": options.data, "updates": options.updates, "found": found}))


def measured(source: Source, defense: str, batch: int, updates: int, seed: int) -> dict[str, Any]:
    """Both attackers on the same updates."""
    settings = RowsSettings(
        batch_sizes=(batch,), attack_points=("initialized",), exposure=0, models=("mlp_tableak",),
        local_statistics=False, standardise_onehot=True, ranges_known=True, deviation="global",
    )  # fmt: skip
    trace, whole = train(source, settings, "mlp_tableak", defense, batch, Streams(seed), silent)
    point = trace.points[0]
    evaluator = Evaluator(training=whole, deviation="global")
    shares: dict[str, list[float]] = {}
    guesses: dict[str, list[float]] = {}
    seconds = {}
    for who, name in ATTACKS.items():
        begin = time.perf_counter()
        claims = attacked(registry.make("attack", name, "rows"), point.observations[:updates], Streams(seed + 1))
        seconds[who] = round((time.perf_counter() - begin) / updates, 1)
        for place, claim in enumerate(claims):
            values = evaluator(claim, point.truths[place], knowledge_of(settings), np.random.default_rng(place))
            shares.setdefault(who, []).append(values.get(Measure(ATTACK, ALL_COLUMNS, "accuracy"), float("nan")))
            for guess in BASELINES:
                share = values.get(Measure(guess, ALL_COLUMNS, "accuracy"), float("nan"))
                guesses.setdefault(guess, []).append(share)
    best = max(guesses.values(), key=lambda each: float(np.nanmean(each)))
    read = {who: bootstrap(each) for who, each in shares.items()}
    gain = bootstrap(list(np.subtract(shares["adaptive"], shares["naive"])))
    return {
        "defense": defense,
        "batch_size": batch,
        **{who: _told(each) for who, each in read.items()},
        "guess": _told(bootstrap(best)),
        "gain": _told(gain),
        "verdict": judge(read["naive"], read["adaptive"], bootstrap(best)).value,
        "seconds": seconds,
    }


def _told(interval: Interval | None) -> dict[str, Any] | None:
    return None if interval is None else {k: v if v is None else round(v, 4) for k, v in asdict(interval).items()}


if __name__ == "__main__":
    main()
