"""How far the runs of a folder are, read from the files that are there. Nothing is changed, and nothing is locked."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pydantic import ValidationError

from seepage._core import InputError
from seepage._core.files import unsealed
from seepage.report.words import plural
from seepage.results import Run, TaskDone
from seepage.results.outline import OUTLINE
from seepage.results.reading import check_form, odd_entry, runs_below
from seepage.results.store import FOLLOW, Head

SMALL = 4096  # bytes: a task that could not be run has a short file, and only such a file is opened


@dataclass(frozen=True, kw_only=True)
class RunState:
    """What is known of a run folder.

    Args:
        problem: why its numbers cannot be read, in a sentence; empty if they can.
        tasks: how many the plan has; None if that is not known.
        done: how many of them are finished.
        outlined: whether it says what it was asked for, so that a part of it can be read.
        cells: record files.
        changed: when a file of it last changed, in seconds.
        follows: whether a process follows a capture that may still grow.
        stopped: whether that process was killed.
    """

    name: str
    study: str
    dataset: str
    command: str
    begun: str
    problem: str
    finished: bool
    report: bool
    outlined: bool
    tasks: int | None
    done: int
    cells: int
    changed: float
    follows: bool = False
    stopped: bool = False

    @property
    def readable(self) -> bool:
        """Whether its numbers can be read: all of them, or those that are there."""
        return not self.problem and (self.finished or self.outlined or self.follows or self.stopped)

    @property
    def progress(self) -> str:
        """How far it is, in words."""
        if self.problem:
            return "cannot be read"
        attacked = f"{self.done} of {plural(self.tasks or 0, 'round')} attacked"
        if self.follows:
            last = f"{datetime.fromtimestamp(self.changed, UTC):%H:%M:%S} UTC"
            return f"follows its capture: {attacked}, last at {last}"
        if self.stopped:
            return f"was stopped while it followed its capture: {attacked}; run the same command to go on"
        if self.finished:
            return "finished"
        return "not finished" if self.tasks is None else f"{self.done} of {plural(self.tasks, 'task')} finished"


def run_states(folder: Path) -> list[RunState]:
    """Every run folder below a folder, the newest first."""
    return sorted((run_state(path) for path in runs_below(folder)), key=lambda state: state.changed, reverse=True)


def run_state(path: Path) -> RunState:
    """How far a run is. A file that is being written is not there yet, and that is fine."""
    head, problem = _head(path)
    tasks, follows = head.get("tasks"), head.get("follows")
    live = isinstance(follows, dict) and follows.get("live") is True
    again = follows.get("command") if isinstance(follows, dict) and live else None  # it waits for more rounds
    alive = live and not problem and Run(path).is_claimed(FOLLOW)  # who was killed could not say that it ended
    records = list((path / "records").glob("*.parquet"))
    done = list((path / "tasks").glob("*.json"))
    return RunState(
        name=path.name,
        study=str(head.get("study") or ""),
        dataset=str(head.get("dataset") or ""),
        command=str(again or head.get("command") or ""),
        begun=str(head.get("created") or "").replace("T", " ").replace("+00:00", " UTC"),
        problem=problem,
        finished=(path / "summary.json").exists() and not live,
        report=not problem and ((path / "report.html").exists() or (bool(records) and (path / OUTLINE).exists())),
        outlined=(path / OUTLINE).exists(),
        tasks=tasks if isinstance(tasks, int) else None,
        done=len(done),
        cells=len(records),
        changed=max((_changed(file) for file in [*records, *done, *path.glob("*.json")]), default=0.0),
        follows=alive,
        stopped=live and not alive,
    )


def _changed(file: Path) -> float:
    try:
        return file.stat().st_mtime
    except FileNotFoundError:  # it was set aside, or replaced, since it was listed
        return 0.0


def _head(path: Path) -> tuple[Head, str]:
    """What run.json says, and why the run cannot be read; whoever wrote it."""
    try:
        if odd := odd_entry(path):
            return {}, f"The run holds {odd}, which is neither a file nor a folder; it is not shown."
        run = Run(path)
        check_form(run)
        return run.head(), ""
    except OSError as error:
        return {}, f"{path / 'run.json'} cannot be read: {error.strerror}."
    except InputError as error:
        return {}, str(error)


def reasons(path: Path) -> list[str]:
    """Why tasks of a run could not be run, each reason once."""
    every: dict[str, None] = {}
    for file in sorted((path / "tasks").glob("*.json")):
        try:
            if file.stat().st_size <= SMALL:
                every[TaskDone.model_validate_json(unsealed(file.read_bytes()) or b"").reason] = None
        except (FileNotFoundError, ValidationError):  # being replaced, or damaged: the next look may see it
            continue
    return [reason for reason in every if reason]
