"""More rows than any layer is wide: the attack `pursuit` beside `fast`, on the same updates, on one core.

    python benchmarks/pursuit.py [--quick] [--batches 20] [--rounds 5] [--store] --json

Adult as TabLeak encodes it, net 100-100, 128 rows, one round and five; between two rounds 20 steps on other clients'
rows move the model. `cells` and `fast_cells`: the share of all cells that are right, numbers within 0.319 deviations as
TabLeak counts them (it publishes 68.8 % for one round). `fast` gets the last round only, which is all that it can use.
`--store` keeps every batch as it ends in `docs/explanation/pursuit.json`, goes on from there, and makes the page's
table.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.optimize import linear_sum_assignment
from torch import Tensor

from seepage._core import Streams, silent
from seepage.attacks.exact.view import codes_of
from seepage.attacks.inversion import fast
from seepage.attacks.pursuit import Pursuit
from seepage.data import Layout
from seepage.data.request import Request
from seepage.data.source import open_source
from seepage.studies.rows.making import train
from seepage.studies.rows.settings import RowsSettings

sys.path.insert(0, str(Path(__file__).parent))
from page_tables import filled
from rounds import TABLEAK, rounds

ROWS, NEAR = 128, 0.319
PAGE = Path(__file__).parents[1] / "docs" / "explanation" / "exact-inversion.md"
STORED = PAGE.parent / "pursuit.json"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one batch of 24 rows, few restarts")
    parser.add_argument("--json", action="store_true", help="print JSON (always done)")
    parser.add_argument("--batches", type=int, default=20, help="batches for each number of rounds")
    parser.add_argument("--rounds", default="1,5", help="numbers of rounds, separated by commas")
    parser.add_argument("--store", action="store_true", help="keep each batch, and make the page's table of them")
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.quick:
        found = measured(24, [(2, 0)], Pursuit(restarts=4, steps=40, turns=1, compile="no"), [], store=False)
    else:
        kept = json.loads(STORED.read_text()) if options.store and STORED.exists() else []
        asked = [(int(many), number) for number in range(options.batches) for many in options.rounds.split(",")]
        there = {(each["rounds"], each["batch"]) for each in kept}
        found = measured(
            ROWS, [each for each in asked if each not in there], Pursuit(compile="no"), kept, store=options.store
        )
    print(json.dumps({"benchmark": "pursuit", "cells": found, "summary": summed(found)}, indent=1))


def measured(
    rows: int, asked: list[tuple[int, int]], attack: Pursuit, kept: list[dict[str, Any]], *, store: bool
) -> list[dict[str, Any]]:
    """Some batches, each over some rounds."""
    count = 2 + max((number for _, number in asked), default=0)
    settings = RowsSettings(
        models=("mlp_tableak",), batch_sizes=(rows,), attack_points=("initialized",), exposure=0, labels_known=False,
        local_statistics=False, ranges_known=True, clients=count, trials=count, **TABLEAK,
    )  # fmt: skip
    source = open_source(Request(data="adult_tableak"))
    point = train(source, settings, "mlp_tableak", "none", rows, Streams(11).child(0), silent)[0].points[-1]
    for many, number in asked:
        x, seen = rounds(point.observations[number], point.truths[number], point.truths[number + 1], many)
        (plain,) = replace(fast(), compile="no")([seen[-1]], Streams(number))
        begin = time.process_time()
        (claim,) = attack([replace(seen[-1], earlier=tuple(seen[:-1]))], Streams(number))
        assert claim.rows is not None
        assert plain.rows is not None
        layout = seen[-1].layout
        kept.append(
            {
                "rows": rows,
                "rounds": many,
                "batch": number,
                "cells": right(layout, x, claim.rows),
                "fast_cells": right(layout, x, plain.rows),
                "seconds": round(time.process_time() - begin, 1),
            }
        )
        if store:
            STORED.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
            PAGE.write_text(with_table(PAGE.read_text(), kept), encoding="utf-8")
    return kept


def right(layout: Layout, x: Tensor, rows: np.ndarray) -> float:
    """The share of cells that are right, each claimed row beside the true one that it fits best."""
    claimed, numeric = torch.from_numpy(rows).double(), layout.numeric
    true, read = codes_of(layout, x), codes_of(layout, claimed)
    near = (claimed[None, :, :numeric] - x.double()[:, None, :numeric]).abs() < NEAR
    agree = ((read[None] == true[:, None]).sum(2) + near.sum(2)).numpy()
    places = linear_sum_assignment(-agree)
    return round(float(agree[places].mean()) / (numeric + len(layout.sizes)), 4)


def summed(cells: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Mean and spread over batches, for each number of rounds."""
    found = []
    for many in sorted({each["rounds"] for each in cells}):
        own = [each for each in cells if each["rounds"] == many]
        shares = {name: [each[name] for each in own] for name in ("cells", "fast_cells", "seconds")}
        found.append(
            {
                "rounds": many,
                "batches": len(own),
                "cells": float(np.mean(shares["cells"])),
                "least": min(shares["cells"]),
                "most": max(shares["cells"]),
                "fast_cells": float(np.mean(shares["fast_cells"])),
                "seconds": float(np.mean(shares["seconds"])),
            }
        )
    return found


def with_table(page: str, cells: list[dict[str, Any]]) -> str:
    """The page with its table made from stored batches."""
    lines = ["| rounds | batches | cells right, mean (least to most) | `fast` on the last round | seconds |"]
    lines.append("| ---: | ---: | ---: | ---: | ---: |")
    for each in summed(cells):
        spread = f"{100 * each['cells']:.1f} % ({100 * each['least']:.1f} to {100 * each['most']:.1f})"
        lines.append(
            f"| {each['rounds']} | {each['batches']} | {spread} | {100 * each['fast_cells']:.1f} % | "
            f"{each['seconds']:.0f} |"
        )
    return filled(page, {"pursuit": "\n".join(lines)})


if __name__ == "__main__":
    main()
