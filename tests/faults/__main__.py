"""Every campaign in full: `make fault-tests` prints the table and keeps it for `docs/explanation/trust.md`."""

from __future__ import annotations

import importlib
import json
import pkgutil
import sys
import time
from argparse import ArgumentParser
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from pathlib import Path

import tests.faults
from tests.faults.tally import BAD, Tally

STORED = Path(__file__).parents[2] / "docs" / "explanation" / "faults.json"


def campaigns() -> list[str]:
    """The files of this folder that have a campaign."""
    names = [each.name for each in pkgutil.iter_modules(tests.faults.__path__) if not each.name.startswith("test_")]
    return [name for name in names if hasattr(importlib.import_module(f"tests.faults.{name}"), "campaign")]


def ran(name: str, share: float) -> tuple[str, float, list[Tally]]:
    """One campaign, with its seconds."""
    began = time.monotonic()
    tallies = importlib.import_module(f"tests.faults.{name}").campaign(share)
    return name, time.monotonic() - began, tallies


def main() -> int:
    """Print the table; 1 if anything happened that must not."""
    parser = ArgumentParser(prog="make fault-tests", description=__doc__)
    parser.add_argument("--share", type=float, default=1.0, help="of the full counts (0.01 to try the campaigns)")
    parser.add_argument("--only", action="append", choices=campaigns(), help="a campaign; all if not given")
    parser.add_argument("--jobs", type=int, default=2)
    chosen = parser.parse_args()
    every: dict[str, list[Tally]] = {}
    with ProcessPoolExecutor(chosen.jobs, max_tasks_per_child=1) as pool:
        for name, seconds, tallies in pool.map(ran, names := chosen.only or campaigns(), [chosen.share] * len(names)):
            every[name] = tallies
            print(f"{name}: {seconds:.0f} s", file=sys.stderr)  # noqa: T201
    tallies = [tally for found in every.values() for tally in found]
    rows = [(tally.what, tally.tried, *(getattr(tally, kind) for kind in BAD)) for tally in tallies]
    for row in (("what", "tried", *BAD), ("---",) * (2 + len(BAD)), *rows):
        print(f"| {' | '.join(map(str, row))} |")  # noqa: T201
    for tally in tallies:
        for story in tally.told:
            print(f"{tally.what}: {story}", file=sys.stderr)  # noqa: T201
    if chosen.share == 1 and not chosen.only:
        STORED.write_text(json.dumps([asdict(tally) for tally in tallies], indent=1) + "\n")
    return int(not all(tally.clean for tally in tallies))


if __name__ == "__main__":
    sys.exit(main())
