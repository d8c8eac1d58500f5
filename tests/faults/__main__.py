"""Every campaign in full: `make fault-tests` prints the table and keeps it for `docs/explanation/trust.md`."""

from __future__ import annotations

import importlib
import json
import pkgutil
import subprocess
import sys
import time
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path

import tests.faults
from tests.faults.tally import BAD, Tally

DOCS = Path(__file__).parents[2] / "docs" / "explanation"
STORED, PAGE = DOCS / "faults.json", DOCS / "trust.md"
LONG = ("fuzz", "workers", "writes")  # they begin first, so that no core waits at the end
BEGIN, END = "<!-- faults: written by make fault-tests -->", "<!-- end of faults -->"


def campaigns() -> list[str]:
    """The files of this folder that have a campaign."""
    names = [each.name for each in pkgutil.iter_modules(tests.faults.__path__) if not each.name.startswith("test_")]
    found = [name for name in names if hasattr(importlib.import_module(f"tests.faults.{name}"), "campaign")]
    return sorted(found, key=lambda name: (name not in LONG, name))


def ran(name: str, share: float) -> list[Tally]:
    """One campaign, in a process of its own: it may start and end others."""
    began = time.monotonic()
    words = [sys.executable, "-m", "tests.faults", "--alone", name, "--share", str(share)]
    done = subprocess.run(words, stdout=subprocess.PIPE, check=True, text=True)
    print(f"{name}: {time.monotonic() - began:.0f} s", file=sys.stderr)  # noqa: T201
    return [Tally(**fields) for fields in json.loads(done.stdout.splitlines()[-1])]


def main() -> int:
    """Print the table; 1 if anything happened that must not."""
    parser = ArgumentParser(prog="make fault-tests", description=__doc__)
    parser.add_argument("--share", type=float, default=1.0, help="of the full counts (0.01 to try the campaigns)")
    parser.add_argument("--only", action="append", choices=campaigns(), help="a campaign; all if not given")
    parser.add_argument("--alone", help="a campaign to run in this process; its tallies are printed as JSON")
    parser.add_argument("--jobs", type=int, default=2)
    chosen = parser.parse_args()
    if chosen.alone:
        found = importlib.import_module(f"tests.faults.{chosen.alone}").campaign(chosen.share)
        print(json.dumps([asdict(tally) for tally in found]))  # noqa: T201
        return 0
    with ThreadPoolExecutor(chosen.jobs) as pool:
        names = chosen.only or campaigns()
        tallies = [tally for each in pool.map(ran, names, [chosen.share] * len(names)) for tally in each]
    for line in lines(tallies):
        print(line)  # noqa: T201
    for tally in tallies:
        for story in tally.told:
            print(f"{tally.what}: {story}", file=sys.stderr)  # noqa: T201
    if chosen.share == 1 and not chosen.only:
        STORED.write_text(json.dumps([asdict(tally) for tally in tallies], indent=1) + "\n")
        PAGE.write_text(with_table(PAGE.read_text(), tallies))
    return int(not all(tally.clean for tally in tallies))


def with_table(page: str, tallies: Sequence[Tally]) -> str:
    """The page with this table."""
    before, rest = page.split(BEGIN)
    return "\n".join((before + BEGIN, *lines(tallies), END)) + rest.split(END)[1]


def lines(tallies: Sequence[Tally]) -> Iterator[str]:
    """The table, as Markdown."""
    rows = [(tally.what, f"{tally.tried:,}", *(getattr(tally, kind) for kind in BAD)) for tally in tallies]
    for row in (("what", "tried", *BAD), ("---", *("---:",) * (1 + len(BAD))), *rows):
        yield f"| {' | '.join(map(str, row))} |"


if __name__ == "__main__":
    sys.exit(main())
