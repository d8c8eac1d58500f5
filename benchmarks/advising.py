"""Whether a search within a budget finds what a full grid with five times the time finds.

    python benchmarks/advising.py --out FOLDER [--data adult] [--minutes 30] [--max-loss 0.02] [--store] --json
    python benchmarks/advising.py --quick --json

The task: no row read exactly, at most 5 % of the cells beyond guessing, and as little of the score lost as can be.
`advise` gets so many minutes, and the grid five times as many for the same space (`space.candidates`, all defences of
rows): every setting the same number of updates, trainings and attack steps, as many as fit by estimate, or as many
trainings as `--federations` says. Both have the same number of processes.
What both choose is then measured again on seeds that neither saw: six trainings for what it is worth, and `exact`,
`fast` and `adaptive` at full length on the updates of one. `--keep batch-size=8` looks at a part of the space. Runs are
kept in the folder, and the same command goes on with them; `--store` puts the result into `docs/how-to/advise.md`.

- `advise_loss`, `grid_loss`: what the choice of each loses of its score against the plain setting, on fresh seeds.
- `difference`: `advise_loss - grid_loss`. The bar is 0.02: utility within two points of the grid's.
- `advise_gain`, `grid_gain`: cells that are read beyond guessing under each choice, on fresh seeds, with its interval.
- `advise_seconds`, `grid_seconds`: what each took.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from seepage._core import Progress
from seepage.advice.advising import Advice, Question, Workers, answered
from seepage.advice.board import Board
from seepage.advice.laboratory import SEEDS
from seepage.advice.limits import SCORES, Limits, Verdict
from seepage.advice.measured import read_findings
from seepage.advice.space import Candidate, candidates, read_keep
from seepage.advice.stages import LEAST
from seepage.advice.words import number, share
from seepage.results import Interval
from seepage.results.rows import RowsSummary
from seepage.runs import make_plan, open_sources, run
from seepage.runs.probe import estimate, impossible

sys.path.insert(0, str(Path(__file__).parent))
from page_tables import filled

GRID_ATTACKS = ("adaptive:steps=100:restarts=3:chains=2:sweeps=10", "adaptive")  # the longest that fits is taken
FRESH_ATTACKS = ("exact", "fast", "adaptive")
MORE = 5  # times the budget
TRAININGS = 6  # of each choice, on fresh seeds
PAGE = Path(__file__).parents[1] / "docs" / "how-to" / "advise.md"
STORED = PAGE.parent / "advising.json"
TITLES = {
    "adult": "Adult",
    "bank_marketing": "Bank Marketing",
    "california_housing": "California Housing",
    "clinic": "`clinic`",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="clinic, one batch size, one minute")
    parser.add_argument("--out", type=Path, help="the folder of the runs")
    parser.add_argument("--minutes", type=float, default=30.0, help="of the search")
    parser.add_argument("--data", default="adult")
    parser.add_argument("--clients", type=int, default=10)
    parser.add_argument("--exposure", type=float, default=2.0)
    parser.add_argument("--max-loss", type=float, default=0.02)
    parser.add_argument("--keep", action="append", default=[], metavar="NAME=VALUE", help="as in seepage advise")
    parser.add_argument("--jobs", type=int, default=2, help="processes of either")
    parser.add_argument("--federations", type=int, help="trainings of each setting in the grid; else what fits")
    parser.add_argument("--store", action="store_true", help="put the result into the docs")
    parser.add_argument("--json", action="store_true", help="print JSON (always done)")
    asked = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a stopped run keeps its seconds
    keep = read_keep(dict(each.split("=", 1) for each in asked.keep))
    if asked.quick:
        asked.minutes, asked.data, asked.clients, asked.exposure, asked.max_loss = 1.0, "clinic", 4, 1.0, 0.05
        keep = {"batch-size": 2, "local-epochs": 0, "width": 32}
    with tempfile.TemporaryDirectory() as empty:
        told = compared(asked, keep, asked.out or Path(empty))
    if asked.store:
        store(told)
    print(json.dumps(told, indent=None if asked.json else 2))


def compared(asked: argparse.Namespace, keep: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The choice of each, measured again."""
    advice, searched = timed(folder / "search.seconds", lambda: searched_for(asked, keep, folder))
    every = possible(asked, candidates(keep))
    (best, grid_effort), gridded = timed(folder / "grid.seconds", lambda: grid(asked, every, folder))
    chosen = advice.found.recommended
    again = list(dict.fromkeys([every[0], *(each for each in (chosen, best) if each)]))
    trainings = 1 if asked.quick else TRAININGS
    fresh = measured(
        asked, again, 90 * SEEDS, folder / "fresh-worth", attacks=[LEAST], trials=trainings * asked.clients
    )
    pressed = list(dict.fromkeys(each for each in (chosen, best) if each)) or again
    attacks = [GRID_ATTACKS[0]] if asked.quick else list(FRESH_ATTACKS)
    read = measured(asked, pressed, 95 * SEEDS, folder / "fresh-leak", attacks=attacks, trials=asked.clients)
    told: dict[str, Any] = {
        "benchmark": "advising", "data": asked.data, "minutes": asked.minutes, "jobs": asked.jobs,
        "clients": asked.clients, "exposure": asked.exposure, "max_loss": asked.max_loss, "kept": asked.keep,
        "settings": len(every),
        "score": SCORES[task_of(asked)][1], "grid_effort": grid_effort, "confirmed": advice.found.confirmed,
        "confirmed_by": advice.board.courses[chosen].confirmed_by if chosen else 0,
        "advise_seconds": searched, "grid_seconds": gridded,
    }  # fmt: skip
    for name, choice in (("advise", chosen), ("grid", best)):
        leak = read.courses[choice].leak if choice else None
        told[name] = choice.name if choice else None
        told[f"{name}_loss"] = _told(fresh.loss(choice)) if choice else None
        told[f"{name}_gain"] = _told(leak.gain) if leak else None
        told[f"{name}_rows_exact"] = [leak.rows_exact, leak.rows] if leak else None
        told[f"{name}_held"] = read.safety(choice).value if choice else None
    if chosen and best:
        told["difference"] = round(told["advise_loss"]["mean"] - told["grid_loss"]["mean"], 4)
    return told


def searched_for(asked: argparse.Namespace, keep: dict[str, Any], folder: Path) -> Advice:
    """What `seepage advise` answers."""
    question = Question(
        table={"data": asked.data},
        limits=Limits(max_loss=asked.max_loss),
        keep=keep,
        budget=60 * asked.minutes,
        clients=asked.clients,
        exposure=asked.exposure,
        workers=Workers(jobs=asked.jobs),
    )
    return answered(question, folder / "search", tell=say)


def grid(
    asked: argparse.Namespace, every: Sequence[Candidate], folder: Path
) -> tuple[Candidate | None, dict[str, Any]]:
    """Every setting alike, with the longest attack and the most trainings that fit; and what that was."""
    kept = folder / "grid.json"
    if not kept.exists():
        kept.write_text(json.dumps(effort_of(asked, every)), encoding="utf-8")
    effort = json.loads(kept.read_text())
    say(f"The grid: {effort}.")
    board = measured(asked, every, 50 * SEEDS, folder / "grid", **effort)
    safe = [each for each in every if board.safety(each) is Verdict.HELD and board.affordable(each)]
    return min(safe, key=board.rank, default=None), effort


def effort_of(asked: argparse.Namespace, every: Sequence[Candidate]) -> dict[str, Any]:
    """The most that fits into the grid's time, and at the least one training of every setting."""
    chosen: dict[str, Any] = {"attacks": [GRID_ATTACKS[0]], "trials": asked.clients}
    if asked.federations:
        return {**chosen, "trials": asked.federations * asked.clients}
    for federations in () if asked.quick else (2, 3, 6):
        for attack in GRID_ATTACKS:
            settings = {"attacks": [attack], "trials": federations * asked.clients}
            plan = make_plan(values_of(asked, every, **settings))
            if estimate(plan, open_sources(plan), limit=20).wall(asked.jobs) <= 60 * MORE * asked.minutes:
                chosen = settings
    return chosen


def possible(asked: argparse.Namespace, every: Sequence[Candidate]) -> list[Candidate]:
    """Settings that can be run on the table."""
    plan = make_plan(values_of(asked, every, trials=asked.clients))
    wrong = {each.task.variant.name for each in impossible(plan, open_sources(plan))}
    return [each for each in every if each.name not in wrong]


def values_of(asked: argparse.Namespace, every: Sequence[Candidate], **settings: Any) -> dict[str, Any]:
    """A plan with a case for every setting."""
    shared = {"data": asked.data, "clients": asked.clients, "exposure": asked.exposure}
    shared |= {"attack_points": ["initialized", "final"]}  # as the search does
    return {**shared, **settings, "cases": [{"name": each.name, **each.values()} for each in every]}


def measured(asked: argparse.Namespace, every: Sequence[Candidate], seed: int, folder: Path, **settings: Any) -> Board:
    """All settings by one run."""
    plan = make_plan(values_of(asked, every, seed=seed, **settings))
    with Workers(jobs=asked.jobs).open() as backend:
        summary = run(plan, out=folder, command="benchmark", backend=backend, progress=every_minute())
    assert isinstance(summary, RowsSummary)
    board = Board(Limits(max_loss=asked.max_loss), every[0])
    board.add(read_findings(summary, every, "train", seed, task_of(asked)))
    return board


def task_of(asked: argparse.Namespace) -> str:
    (source,) = open_sources(make_plan({"data": asked.data}))
    return str(source.describe().task)


def timed(place: Path, work: Callable[[], Any]) -> tuple[Any, int]:
    """What some work gives, and its seconds in all sessions."""
    place.parent.mkdir(parents=True, exist_ok=True)
    before = float(place.read_text()) if place.exists() else 0.0
    begun = time.perf_counter()
    over = place.with_suffix(".over")
    try:
        found = work()
    finally:
        if not over.exists():
            place.write_text(str(before + time.perf_counter() - begun), encoding="utf-8")
    over.touch()
    return found, round(float(place.read_text()))


def every_minute() -> Progress:
    """Progress as a line a minute, to the error output."""
    last = [time.monotonic()]

    def told(label: str, done: int, total: int, note: str = "") -> None:
        if time.monotonic() - last[0] > 60:
            last[0] = time.monotonic()
            say(f"{label}: {done} of {total} {note}")

    return told


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def store(told: dict[str, Any]) -> None:
    """Keep the result of a table, and make the page's table of all that are kept."""
    kept = {each["data"]: each for each in json.loads(STORED.read_text())} if STORED.exists() else {}
    kept[told["data"]] = told
    ordered = [kept[name] for name in TITLES if name in kept]
    STORED.write_text(json.dumps(ordered, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(with_tables(PAGE.read_text(), ordered), encoding="utf-8")


def with_tables(page: str, stored: Sequence[dict[str, Any]]) -> str:
    """The page with its table made from stored results."""
    lines = ["| table | | setting | minutes | loss | cells gained | rows exact |"]
    lines.append("| --- | --- | --- | ---: | --- | --- | ---: |")
    for each in stored:
        for name in ("advise", "grid"):
            title = f"{TITLES[each['data']]}, {each['score']}" if name == "advise" else ""
            minutes = f"{each[f'{name}_seconds'] / 60:.1f}"
            trainings = each["grid_effort"]["trials"] // each["clients"]
            whose = name if name == "advise" else f"grid, {trainings} training{'s' if trainings > 1 else ''} of each"
            if each[name] is None:
                lines.append(f"| {title} | {whose} | none held the limits | {minutes} | | | |")
                continue
            exact, rows = each[f"{name}_rows_exact"]
            loss, gain = (Interval(**each[f"{name}_{what}"]) for what in ("loss", "gain"))
            read = f"{number(loss)} | {share(gain)} | {exact} of {rows:,}"
            lines.append(f"| {title} | {whose} | {each[name]} | {minutes} | {read} |")
    return filled(page, {"advising": "\n".join(lines)})


def _told(interval: Interval | None) -> dict[str, Any] | None:
    return None if interval is None else {k: v if v is None else round(v, 4) for k, v in asdict(interval).items()}


if __name__ == "__main__":
    main()
