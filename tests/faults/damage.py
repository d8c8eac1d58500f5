"""Every file of a finished run, and of one that was stopped, is damaged in every way; then it is read, and goes on."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from seepage._core import InputError
from seepage.federation.vertical import TabVFLClassifier
from seepage.report import render
from seepage.results import Run, read_summary
from seepage.runs import Plan
from tests.faults.disk import Crash, FaultyDisk, used
from tests.faults.runs import SMALL, finished, gone_on_with, small_plan
from tests.faults.tally import Tally
from tests.faults.writes import a_folder


def flip(path: Path) -> None:
    """One bit."""
    content = bytearray(path.read_bytes())
    place = random.Random(str(path.name)).randrange(8 * len(content))
    content[place // 8] ^= 1 << (place % 8)
    path.write_bytes(content)


def cut(path: Path) -> None:
    """The second half is gone."""
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def gone(path: Path) -> None:
    path.unlink()


def nonsense(path: Path) -> None:
    path.write_bytes(random.Random(1).randbytes(path.stat().st_size))


def another(path: Path) -> None:
    """What belongs to another file."""
    others = [each for each in sorted(path.parent.iterdir()) if each.is_file() and each != path]
    path.write_bytes((others or [path.parent / "digests.txt"])[0].read_bytes() if others else b"{}")


DAMAGE: dict[str, Callable[[Path], None]] = {
    "a flipped bit": flip,
    "the second half gone": cut,
    "empty": empty,
    "missing": gone,
    "random bytes": nonsense,
    "the bytes of another file": another,
}
SORTS = ("run.json", "outline.json", "digests.txt", "records/*", "tasks/*.json", "summary.json", "report.html")
KEPT = ("files/*", "revealed/*", "model/*/*", "work/*/progress.json", "work/*/*/*.safetensors")


def campaign(share: float = 1.0) -> list[Tally]:
    """A line for each study: all sorts of files, all kinds of damage, in a finished and in a stopped run."""
    tallies = []
    with a_folder() as folder:
        for study in SMALL:
            tally = Tally("")
            kinds = 0
            plan = small_plan(study, folder / study)
            assert not finished(plan, folder / study / "whole")
            for state in ("whole", "stopped"):
                if state == "stopped":
                    stopped_run(plan, folder / study)
                cases = list(all_damage(folder / study / state))
                kinds += len(cases)
                for number in sorted(random.Random(study).sample(range(len(cases)), max(1, round(share * len(cases))))):
                    file, name = cases[number]
                    damaged_once(plan, folder / study, state, file, name, tally)
            tally.what = f"{kinds} kinds of damage to a run of the study {study}"
            tallies.append(tally)
    return tallies


def all_damage(run: Path) -> Iterator[tuple[str, str]]:
    """One file of each sort that is there, by its place in the run, and each kind of damage to it."""
    for sort in (*SORTS, *KEPT):
        names = {path.name for path in run.glob(sort)} if sort.startswith("model") else {""}
        for name in sorted(names):
            files = sorted(path for path in run.glob(sort) if path.is_file() and name in path.name)
            if files:
                yield from ((files[0].relative_to(run).as_posix(), damage) for damage in DAMAGE)


def stopped_run(plan: Plan, folder: Path) -> None:
    """The run as a kill half-way leaves it."""
    counted = FaultyDisk()
    with used(counted):
        finished(plan, folder / "counted")
    try:
        with used(FaultyDisk(counted.calls * 2 // 5, "before")):
            finished(plan, folder / "stopped")
    except Crash:
        return
    raise AssertionError("it was not stopped")


def damaged_once(plan: Plan, folder: Path, state: str, file: str, damage: str, tally: Tally) -> None:
    """One damaged run: what is read of it is right or refused, and it goes on to the same end."""
    out, story = folder / "run", f"{plan.study.name}, {state}, {file}: {damage}"
    shutil.rmtree(out, ignore_errors=True)
    shutil.copytree(folder / state, out)
    DAMAGE[damage](out / file)
    tally.tried += 1
    with tally.counting(story):
        if state == "whole" and not _read_rightly(out, folder / "whole"):
            tally.bad("different", f"{story}: it was read as if nothing had happened")
        if state == "stopped" and not _partly_read_rightly(out, folder / "whole"):
            tally.bad("different", f"{story}: rows that were never there were read")
        gone_on_with(plan, out, folder / "whole", story, tally)


def _partly_read_rightly(out: Path, whole: Path) -> bool:
    """Whether what is read of a stopped run is in the whole one, too, or is refused in one sentence."""
    try:
        found = read_summary(Run.open(out))
        render(found)
    except InputError:
        return True
    rows = getattr(read_summary(Run.open(whole)), "revealed", ())
    return all(row in rows for row in getattr(found, "revealed", ()))


def _read_rightly(out: Path, whole: Path) -> bool:
    """Whether the summary and the model are read as they were written, or refused in one sentence."""
    left = {"name", "path", "unfinished", "not_run", "not_tested"}
    try:
        numbers, expected = (read_summary(Run.open(path)).model_dump(exclude=left) for path in (out, whole))
        if numbers != expected and (out / "summary.json").exists():
            return False
    except InputError:
        pass
    if (whole / "model").exists():
        try:
            TabVFLClassifier.load(out / "model")
        except InputError:
            return True
        return Run(out).digests_of("model") == Run(whole).digests_of("model")
    return True
