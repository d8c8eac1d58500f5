"""Whether a search within a budget finds what a full grid with five times the time finds.

The task: Adult, limits of no row read exactly and 5 % of cells beyond guessing. `advise` gets B minutes. The grid gives
the same space (`space.candidates`, all defences of rows) 5 x B: every setting the same number of updates, trainings and
attack steps, as many as fit. What both choose is then measured again on seeds that neither saw, with `exact`, `fast`
and `adaptive`.

    python benchmarks/advising.py [--quick] [--minutes 30] [--data adult] --json

- `advise_loss`, `grid_loss`: what the choice of each loses of ROC AUC against the plain setting, on fresh seeds.
- `difference`: `advise_loss - grid_loss`. The bar is 0.02: utility within two points of the grid's.
- `advise_gain`, `grid_gain`: cells that are read beyond guessing under each choice (the upper end), on fresh seeds.
- `advise_seconds`, `grid_seconds`: what each took.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from seepage.advice.advising import Question, answered
from seepage.advice.board import Board
from seepage.advice.laboratory import SEEDS
from seepage.advice.limits import Limits, Verdict
from seepage.advice.measured import read_findings
from seepage.advice.space import Candidate, candidates
from seepage.results.rows import RowsSummary
from seepage.runs import make_plan, open_sources, run
from seepage.runs.probe import estimate

GRID_ATTACKS = ("adaptive:steps=100:restarts=3:chains=2:sweeps=10", "adaptive")  # the longest that fits is taken
MORE = 5  # times the budget


def values_of(asked: argparse.Namespace, every: Sequence[Candidate], **settings: Any) -> dict[str, Any]:
    """A plan with a case for every setting."""
    shared = {"data": asked.data, "clients": asked.clients, "exposure": asked.exposure}
    return {**shared, **settings, "cases": [{"name": each.name, **each.values()} for each in every]}


def measured(asked: argparse.Namespace, every: Sequence[Candidate], seed: int, **settings: Any) -> Board:
    """All settings by one run."""
    plan = make_plan(values_of(asked, every, seed=seed, **settings))
    with tempfile.TemporaryDirectory() as folder:
        summary = run(plan, out=Path(folder) / "run", command="benchmark")
    assert isinstance(summary, RowsSummary)
    board = Board(Limits(max_loss=asked.max_loss), every[0])
    board.add(read_findings(summary, every, "train", seed, "binary"))
    return board


def grid(asked: argparse.Namespace, every: Sequence[Candidate], seconds: float) -> tuple[Candidate | None, Board]:
    """Every setting alike, with the longest attack and the most trainings that fit."""
    chosen: dict[str, Any] = {"attacks": [GRID_ATTACKS[0]], "trials": asked.clients}
    for federations in () if asked.quick else (2, 3, 6):
        for attack in GRID_ATTACKS:
            settings = {"attacks": [attack], "trials": federations * asked.clients}
            plan = make_plan(values_of(asked, every, **settings))
            if estimate(plan, open_sources(plan), limit=20).seconds <= seconds:
                chosen = settings
    board = measured(asked, every, 50 * SEEDS, **chosen)
    safe = [each for each in every if board.safety(each) is Verdict.HELD and board.affordable(each)]
    return min(safe, key=board.rank, default=None), board


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="clinic, one batch size, one minute")
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--data", default="adult")
    parser.add_argument("--clients", type=int, default=10)
    parser.add_argument("--exposure", type=float, default=2.0)
    parser.add_argument("--max-loss", type=float, default=0.02)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    keep: dict[str, Any] = {}
    if asked.quick:
        asked.minutes, asked.data, asked.clients, asked.exposure, asked.max_loss = 1.0, "clinic", 4, 1.0, 0.05
        keep = {"batch-size": 2, "local-epochs": 0, "width": 32}
    print(json.dumps(compared(asked, keep), indent=None if asked.json else 2))


def compared(asked: argparse.Namespace, keep: dict[str, Any]) -> dict[str, Any]:
    """The choice of each, measured again."""
    question = Question(
        table={"data": asked.data},
        limits=Limits(max_loss=asked.max_loss),
        keep=keep,
        budget=60 * asked.minutes,
        clients=asked.clients,
        exposure=asked.exposure,
    )
    every = candidates(keep)
    with tempfile.TemporaryDirectory() as folder:
        begun = time.perf_counter()
        found = answered(question, Path(folder) / "search").found
        searched = time.perf_counter() - begun
    begun = time.perf_counter()
    best, _ = grid(asked, every, 60 * MORE * asked.minutes)
    told: dict[str, Any] = {
        "advise": found.recommended.name if found.recommended else None,
        "confirmed": found.confirmed,
        "grid": best.name if best else None,
        "advise_seconds": round(searched),
        "grid_seconds": round(time.perf_counter() - begun),
    }
    again = list(dict.fromkeys([every[0], *(each for each in (found.recommended, best) if each)]))
    attacks = [GRID_ATTACKS[0]] if asked.quick else ["exact", "fast", "adaptive"]
    fresh = measured(asked, again, 90 * SEEDS, attacks=attacks, trials=(1 if asked.quick else 3) * asked.clients)
    for name, choice in (("advise", found.recommended), ("grid", best)):
        loss = fresh.loss(choice) if choice else None
        leak = fresh.courses[choice].leak if choice else None
        told[f"{name}_loss"] = None if loss is None else round(loss.mean, 4)
        told[f"{name}_gain"] = None if leak is None else leak.gain.high
    if told["advise_loss"] is not None and told["grid_loss"] is not None:
        told["difference"] = round(told["advise_loss"] - told["grid_loss"], 4)
    return told


if __name__ == "__main__":
    main()
