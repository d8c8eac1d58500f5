"""Runs of every study are killed at random moments, go on, and must end as if nothing had happened."""

from __future__ import annotations

import multiprocessing
import os
import random
import shutil
import signal
import time
from pathlib import Path
from typing import Any

from seepage.runs import Plan
from tests.faults.runs import SMALL, finished, result, same, small_plan
from tests.faults.tally import Tally
from tests.faults.writes import a_folder

KILLS = 200
PATIENCE = 120.0  # seconds after which a run of half a second hangs


def campaign(share: float = 1.0) -> list[Tally]:
    """One line over all studies."""
    tally, moments = Tally("SIGKILL at a random moment, over all studies"), random.Random(3)
    context = multiprocessing.get_context("forkserver")  # plain forks inherit locks of polars' threads
    context.set_forkserver_preload(["seepage.runs.api", "tests.faults.kills"])
    with a_folder() as folder:
        for study in SMALL:
            plan = small_plan(study, folder / study)
            assert not finished(plan, folder / study / "whole")
            _killed(plan, folder / study, max(1, round(share * KILLS / len(SMALL))), moments, context, tally)
    return [tally]


def _child(plan: Plan, out: Path) -> None:
    import torch

    torch.set_num_threads(1)
    if told := finished(plan, out):
        raise SystemExit(told)


def _killed(plan: Plan, folder: Path, kills: int, moments: random.Random, context: Any, tally: Tally) -> None:
    """So many kills of one study's run; each time it got through, it is compared and begun anew."""
    out, done, whole = folder / "run", 0, _seconds(plan, folder, context)
    while done < kills:
        child = context.Process(target=_child, args=(plan, out))
        child.start()
        child.join(moments.uniform(0, whole))
        if child.exitcode is None:
            os.kill(child.pid, signal.SIGKILL)
            done, tally.tried = done + 1, tally.tried + 1
            child.join()
        else:
            _ended(child, plan, folder, tally)
    child = context.Process(target=_child, args=(plan, out))
    child.start()
    child.join(PATIENCE)
    _ended(child, plan, folder, tally)


def _seconds(plan: Plan, folder: Path, context: Any) -> float:
    """How long an undisturbed run takes in a process that has everything loaded: the first one loads it."""
    for number in range(2):
        began = time.monotonic()
        child = context.Process(target=_child, args=(plan, folder / f"timed-{number}"))
        child.start()
        child.join()
    return time.monotonic() - began


def _ended(child: Any, plan: Plan, folder: Path, tally: Tally) -> None:
    out, story = folder / "run", f"{plan.study.name}, after {tally.tried} kills"
    if child.exitcode is None:
        child.kill()
        tally.bad("hangs", story)
    elif child.exitcode != 0:
        tally.bad("lost", f"{story}: exit code {child.exitcode}")
    elif not same(result(out), result(folder / "whole")):
        tally.bad("different", story)
    elif (out / "work").exists() or any(out.rglob("*.tmp")):
        tally.bad("lost", f"{story}: something unfinished is left in the folder")
    shutil.rmtree(out, ignore_errors=True)
