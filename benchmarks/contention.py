"""What two audits side by side cost, beside one alone: threads must not fight for cores.

`factor` is the time of two at once over that of one alone; the limit we keep is 2.3 on two cores (2 is what two
processes need that fill both). `threads` is the number each computes with. `factor_all_threads` is the same with as
many threads as cores in each, as torch would choose (only without `--quick`: it can take minutes).

    python benchmarks/contention.py [--quick] --json
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time

AUDIT = """
import seepage, torch
seepage.audit(
    "clinic", batch_sizes=(32,), exposure=0.5, trials=4, clients=4, attack_points=("initialized",),
    attacks=("exact:restarts=RESTARTS:compile=no",),
)
"""


def started(restarts: int, threads: int | None) -> subprocess.Popen[bytes]:
    """An audit in a process of its own."""
    kept = {name: value for name, value in os.environ.items() if name not in ("OMP_NUM_THREADS", "MKL_NUM_THREADS")}
    if threads is not None:
        kept["OMP_NUM_THREADS"] = str(threads)
    return subprocess.Popen([sys.executable, "-c", AUDIT.replace("RESTARTS", str(restarts))], env=kept)


def seconds(audits: int, restarts: int, threads: int | None) -> float:
    """Until all of so many audits have ended."""
    begin = time.perf_counter()
    running = [started(restarts, threads) for _ in range(audits)]
    for each in running:
        if each.wait():
            raise SystemExit("An audit failed.")
    return time.perf_counter() - begin


def main() -> None:
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("--quick", action="store_true")
    reader.add_argument("--json", action="store_true")
    asked = reader.parse_args()
    restarts = 5 if asked.quick else 20
    seconds(1, 1, None)  # files are in memory afterwards
    alone, pair = seconds(1, restarts, None), seconds(2, restarts, None)
    document = {
        "benchmark": "contention", "cores": os.cpu_count(), "threads": 1, "seconds_alone": alone, "seconds_pair": pair,
        "factor": pair / alone,
    }  # fmt: skip
    if not asked.quick:
        every = os.cpu_count() or 1
        document["factor_all_threads"] = seconds(2, restarts, every) / seconds(1, restarts, every)
    print(json.dumps(document, indent=2) if asked.json else document)


if __name__ == "__main__":
    main()
