"""Rows that are proven over several rounds: is one of them no row of the client?

    python benchmarks/certificates.py [--quick] [--first 200000] [--certificates 10000] [--store] --json

Random worlds of `tests/attacks/exact/test_rounds.py`: batches of 6 to 23 rows over two to four rounds, with people who
are there twice, nearly twice, on a line, with both labels or not in every round, and updates with and without noise.
Every other world is attacked with the attack's usual number of starts, which is slower and finds more that could be
wrong. `wrong` must be 0. It ends when so many certificates were looked at. `--store` keeps the count after every 20
worlds in `docs/explanation/certificates.json` and goes on from there when it is started again.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from dataclasses import replace
from pathlib import Path

import torch

from seepage._core import Streams
from seepage.attacks import Exact

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.attacks.exact.test_rounds import a_world

from page_tables import filled

SHORT = Exact(steps=2, restarts=1, start_steps=2, starts=1, turns=2, nodes=2_000, compile="no")
USUAL = Exact(steps=2, start_steps=2, compile="no")
PAGE = Path(__file__).parents[1] / "docs" / "explanation" / "exact-inversion.md"
STORED = PAGE.parent / "certificates.json"
NEAR, KEEP = 0.02, 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="20 certificates")
    parser.add_argument("--json", action="store_true", help="print JSON (always done)")
    parser.add_argument("--first", type=int, default=200_000, help="seed of the first world")
    parser.add_argument("--certificates", type=int, default=10_000, help="how many to look at")
    parser.add_argument("--store", action="store_true", help="keep the count and go on from it")
    options = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    counts = {"first": options.first, "worlds": 0, "certificates": 0, "wrong": 0}
    if options.store:
        counts = next((each for each in stored() if each["first"] == options.first), counts)
    wrong: list[int] = []
    while counts["certificates"] < (20 if options.quick else options.certificates):
        seed = counts["first"] + counts["worlds"]
        proven, false = looked_at(seed)
        counts["worlds"] += 1
        counts["certificates"] += proven
        counts["wrong"] += false
        wrong += [seed] if false else []
        if options.store and counts["worlds"] % KEEP == 0:
            store(counts)
    if options.store:
        store(counts)
    print(json.dumps({"benchmark": "certificates", **counts, "seeds_of_wrong": wrong}))


def store(counts: dict[str, int]) -> None:
    """Keep the count, and say on the page what all of them add up to."""
    every = [*(each for each in stored() if each["first"] != counts["first"]), counts]
    STORED.write_text(json.dumps(every, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(filled(PAGE.read_text(), {"certificates": sentence(every)}), encoding="utf-8")


def stored() -> list[dict[str, int]]:
    """A count for each first seed."""
    found: list[dict[str, int]] = json.loads(STORED.read_text()) if STORED.exists() else []
    return found


def sentence(every: list[dict[str, int]]) -> str:
    """What was looked at, in words."""
    worlds, found, wrong = (sum(each[name] for each in every) for name in ("worlds", "certificates", "wrong"))
    return f"Of {found:,} certificates in {worlds:,} random worlds of two to four rounds, {wrong} were wrong."


def looked_at(seed: int) -> tuple[int, int]:
    """How many rows were proven in one world, and how many of them are none of the client's."""
    (*_, x), rounds = a_world(seed)  # the claim is about the last round
    attack = USUAL if seed % 2 else SHORT
    (claim,) = attack([replace(rounds[-1], earlier=tuple(rounds[:-1]))], Streams(seed))
    if claim.rows is None or claim.certified is None or not claim.certified.any():
        return 0, 0
    proven = torch.from_numpy(claim.rows[claim.certified]).double()
    return len(proven), int((torch.cdist(proven, x.double()).min(1).values > NEAR).sum())


if __name__ == "__main__":
    main()
