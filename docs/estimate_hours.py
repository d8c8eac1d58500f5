"""Prints how many hours of one core every table of a paper would take, all of the published work.

    python docs/estimate_hours.py tabvfl 6.2 [--probe 30]

Every kind of work is tried once, as `seepage plan show` does, until the seconds of `--probe` are up for a plan; kinds
that were not reached cost the mean of those that were. The numbers in docs/causes.toml come from here, rounded.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import lru_cache

import tomli_w

from seepage._core import SeepageError
from seepage.reproductions.paper import NAMES, find_paper
from seepage.reproductions.running import Workload, plans_of
from seepage.runs import make_plan, open_sources
from seepage.runs.probe import estimate, impossible


def main(arguments: Sequence[str] | None = None) -> None:
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("paper", choices=NAMES)
    reader.add_argument("tables", nargs="*", help="all of them if none is given")
    reader.add_argument("--probe", type=float, default=30.0, help="seconds for trying kinds of work, for each plan")
    asked = reader.parse_args(arguments)
    paper = find_paper(asked.paper)
    for number in asked.tables or [table.number for table in paper.tables]:
        print(f"{paper.name} {number}: {hours(paper.name, number, asked.probe)}", flush=True)  # noqa: T201


def hours(paper: str, number: str, probe: float) -> str:
    """The estimate of one table in words."""
    whose = find_paper(paper)
    try:
        plans = plans_of(whose, whose.table(number), Workload())
        each = [_seconds(tomli_w.dumps(plan.published), probe) for plan in plans]
    except SeepageError as error:
        return f"no estimate: {error}"
    tried = f"{sum(tried for _, tried, _ in each)} of {sum(kinds for _, _, kinds in each)} kinds of work tried"
    return f"{sum(seconds for seconds, _, _ in each) / 3600:.2g} hours of one core, {tried}"


@lru_cache
def _seconds(plan: str, probe: float) -> tuple[float, int, int]:
    """Seconds of one core, and how many kinds of work were tried; plans that tables share are tried once."""
    import tomllib

    made = make_plan(tomllib.loads(plan))
    sources = open_sources(made)
    cost = estimate(made, sources, limit=probe, skip=impossible(made, sources))
    return cost.seconds, cost.tried, cost.kinds


if __name__ == "__main__":
    main()
