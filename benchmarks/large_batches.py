"""Vertical learning in batches that span nobody, while the model trains: what `slopes` reads, proves, and gets wrong.

    python benchmarks/large_batches.py [--quick] [--data adult] [--seed 0] --json

`read`: people whose row is told; `certified`: of them with a proof; `wrong`, `certified_wrong`: another category, or a
number more than a fiftieth of a deviation off; `error_...`: how far the farthest number of a row is off. `seconds` are
of one core, and `ratio` is them over the seconds of the training that was watched.
"""

from __future__ import annotations

import argparse
import json
import time

import torch

from seepage._core import Streams
from seepage.attacks.vertical.slopes import Slopes
from seepage.data.source import Request, open_source
from seepage.studies.vertical.settings import VerticalSettings
from seepage.studies.vertical.workers import VerticalChoice, Workers, make_protocol, make_scene

MODEL = "mlp_tableak"
OFF = 0.02  # deviations


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="400 people and 250 batches")
    parser.add_argument("--json", action="store_true", help="print JSON (always done)")
    parser.add_argument("--data", default="adult")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    torch.set_num_threads(1)
    print(json.dumps(measured(options.data, options.seed, *((400, 250) if options.quick else (2000, 1000))), indent=2))


def measured(data: str, seed: int, people: int, batches: int) -> dict[str, object]:
    """One training that is watched."""
    settings = VerticalSettings(
        models=(MODEL,),
        batch_sizes=(100,),
        people=people,
        batches=batches,
        moving=True,
        optimiser="adam",
        learning_rate=1e-3,
        seed=seed,
    )
    workers = Workers.make(open_source(Request(data=data)), settings, VerticalChoice(MODEL, "none", 100), 0)
    scene = make_scene(workers, settings, [])
    begin = time.process_time()
    updates = list(workers.stream(make_protocol(settings, 100, trains=True), lambda number, parameters: None))
    training = time.process_time() - begin
    reader = Slopes().start(scene, Streams(seed))
    begin = time.process_time()
    for _, update in updates:
        reader.see(update)
    (claim,) = reader.claims()
    seconds = time.process_time() - begin
    certified = claim.certified if claim.certified is not None else [False] * people
    right = torch.zeros(people, dtype=torch.bool)
    read = torch.zeros(people, dtype=torch.bool)
    errors = torch.zeros(1, dtype=torch.float64)
    if claim.rows is not None and claim.determined is not None:
        read = torch.from_numpy(claim.determined)
        off = (torch.from_numpy(claim.rows) - workers.x).abs().amax(1)
        right = off < OFF
        errors = off[read].double()
    proven = torch.as_tensor(certified)
    return {
        "benchmark": "large_batches",
        "data": data,
        "seed": seed,
        "people": people,
        "batches": batches,
        "read": int(read.sum()),
        "certified": int(proven.sum()),
        "wrong": int((read & ~right).sum()),
        "certified_wrong": int((proven & ~right).sum()),
        "error_median": float(errors.median()),
        "error_largest": float(errors.max()),
        "note": claim.note,
        "seconds": seconds,
        "ratio": seconds / training,
    }


if __name__ == "__main__":
    main()
