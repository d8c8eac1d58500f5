"""Runs a plan: tasks that are not finished go to a backend, and what comes back is kept in the run folder."""

from __future__ import annotations

import time
import traceback
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from seepage._core import InputError, NotWritten, Progress, RunStopped, SeepageError, silent
from seepage._core.tracebacks import without_messages
from seepage.results import Run, TaskDone
from seepage.runs.backends import Backend
from seepage.runs.plan import Plan, Task
from seepage.runs.task import Done, Folder, Memory, run_task
from seepage.studies.study import Opened

ATTEMPTS = 3  # at a task whose worker died
PATIENCE = 0.5  # seconds between looks at what another runner is doing


def run_here(
    plan: Plan, run: Run | None, sources: Sequence[Opened], progress: Progress = silent, *, strict: bool = True
) -> tuple[dict[str, TaskDone], Memory]:
    """All tasks one after the other in this process: what an audit of one table does.

    Args:
        strict: stop at a task that cannot be run; else note why and go on.
    """
    finished: dict[str, TaskDone] = {}
    memory = Memory()
    for task in plan.tasks:
        with _turn(run, task):
            done = run.finished(task.id, claimed=True) if run is not None else None
            if done is None:
                result = _without_needs(task, finished) or run_task(
                    task, str(run.path) if run else None, sources[task.place], progress, files=memory.files
                )
                done = result.task
                if done.reason and strict:
                    raise InputError(done.reason)
                if run is not None:
                    run.finish(done)
                if result.memory is not None:
                    memory.take(result.memory)
        finished[task.id] = done
    return finished, memory


@contextmanager
def _turn(run: Run | None, task: Task) -> Iterator[None]:
    """While nobody else works on the task: another runner on the same folder is waited for."""
    while run is not None:
        with run.claimed(task.id) as mine:
            if mine:
                yield
                return
        time.sleep(PATIENCE)
    yield


def _without_needs(task: Task, finished: Mapping[str, TaskDone]) -> Done | None:
    """A task whose needs could not be made cannot be run either."""
    for label, needed in task.needs.items():
        other = finished.get(needed)
        if other is not None and (other.reason or other.error):
            why = other.reason or f"{label} stopped with an internal error"
            return Done(TaskDone(task=task.id, reason=why if other.reason else "", error="" if other.reason else why))
    return None


def run_plan(
    plan: Plan, run: Run, backend: Backend, progress: Progress = silent, *, rows: Sequence[str] = ()
) -> dict[str, TaskDone]:
    """All tasks that are not finished, on a backend; returns what is known of every task.

    Another runner on the same folder takes other tasks. A task whose worker dies is given to another one; one that
    stops with an internal error is kept with its traceback, and the others go on. A backend that is lost as a whole
    stops the run with one sentence.

    Args:
        rows: digests of the tables of the variants; a worker that finds others stops the run.
    """
    sweep = _Sweep(plan, run, backend, progress, rows)
    try:
        sweep.go()
    finally:
        sweep.release()
    return {task.id: sweep.finished[task.id] for task in plan.tasks}


@dataclass
class _Started:
    """A task at a worker."""

    task: Task
    claim: ExitStack
    alone: bool


@dataclass
class _Sweep:
    """A plan on its way."""

    plan: Plan
    run: Run
    backend: Backend
    progress: Progress
    rows: Sequence[str] = ()
    finished: dict[str, TaskDone] = field(default_factory=dict)
    waiting: deque[Task] = field(default_factory=deque)
    elsewhere: deque[Task] = field(default_factory=deque)  # at another runner
    suspects: deque[Task] = field(default_factory=deque)  # a worker died: one at a time, to know whose fault it is
    running: dict[Future[Done], _Started] = field(default_factory=dict)
    deaths: Counter[str] = field(default_factory=Counter)

    def go(self) -> None:
        """Until every task is finished, here or elsewhere."""
        for task in self.plan.tasks:
            done = self.run.finished(task.id)
            if done is None:
                self.waiting.append(task)
            else:
                self.finished[task.id] = done
        while self.waiting or self.running or self.elsewhere or self.suspects:
            self._start_some()
            self._tell()
            if self.running:
                for future in wait(self.running, timeout=PATIENCE, return_when=FIRST_COMPLETED).done:
                    self._end(future)
                self._still_there()
            else:
                time.sleep(PATIENCE if self.elsewhere else 0)
            self.waiting.extend(self.elsewhere)
            self.elsewhere.clear()
        self._tell()

    def _still_there(self) -> None:
        """Stop, with what is finished kept, if nobody is left to work."""
        if reason := self.backend.lost():
            raise self._stopped(reason)

    def _stopped(self, reason: str) -> RunStopped:
        return RunStopped(f"{reason} What is finished is kept; continue with --out {self.run.path}.")

    def _start_some(self) -> None:
        """Fill the workers with tasks whose needs are there."""
        if self.suspects:
            if not self.running:
                self._start(self.suspects.popleft(), alone=True)
            return
        for _ in range(len(self.waiting)):
            if len(self.running) >= self.backend.slots:
                return
            task = self.waiting.popleft()
            if all(needed in self.finished for needed in task.needs.values()):
                self._start(task, alone=self.backend.slots == 1)
            else:
                self.waiting.append(task)

    def _start(self, task: Task, *, alone: bool) -> None:
        claim = ExitStack()
        if not claim.enter_context(self.run.claimed(task.id)):
            claim.close()
            self.elsewhere.append(task)
            return
        done = self.run.finished(task.id, claimed=True)  # another runner may have been faster
        stuck = _without_needs(task, self.finished) if done is None else None
        if done is not None or stuck is not None:
            claim.close()
            self.finished[task.id] = done if done is not None else self._kept(stuck)  # type: ignore[arg-type]
            return
        shared = str(self.run.path.resolve()) if self.backend.shared else None
        rows = self.rows[task.place] if self.rows else ""
        work = partial(run_task, base=str(Path.cwd()), rows=rows)
        if shared is None and task.needs:
            names = [name for needed in task.needs.values() for name in self.finished[needed].files]
            work = partial(work, files={name: self.run.kept(name) for name in names})
        self.running[self.backend.submit(work, task, shared)] = _Started(task, claim, alone)

    def _end(self, future: Future[Done]) -> None:
        """Keep what came back, or give the task to another worker if this one died."""
        started = self.running.pop(future)
        task, error = started.task, None if future.cancelled() else future.exception()
        if future.cancelled() or isinstance(error, NotWritten | RunStopped):  # the run stops, and can go on later
            started.claim.close()
            if isinstance(error, NotWritten):
                raise error
            raise self._stopped(str(error) if error else self.backend.lost() or "The workers are gone.") from None
        if error is not None and self.backend.died(error):
            self.deaths[task.id] += started.alone
        if error is not None and self.backend.died(error) and self.deaths[task.id] < ATTEMPTS:
            self.suspects.append(task)
        else:
            self.finished[task.id] = self._kept(future.result() if error is None else _broken(task, error))
        started.claim.close()

    def _kept(self, done: Done) -> TaskDone:
        """Store what came back, records first."""
        task = done.task
        if done.memory is not None:
            sink = Folder(self.run)
            for name, records in done.memory.records.items():
                sink.add(records, done.memory.revealed.get(records[0].cell.id, ()), part=done.memory.parts[name])
            for name in set(done.memory.files) - set(self._known_files()):
                sink.keep(name, done.memory.files[name])
            task = task.model_copy(update={"records": sink.records, "files": sink.files, "others": sink.others})
        if task.error:  # one that broke is tried again when the run goes on
            self.run.broke(task.task, done.trace)
        else:
            self.run.finish(task)
        return task

    def _known_files(self) -> list[str]:
        return [name for done in self.finished.values() for name in done.files]

    def _tell(self) -> None:
        failed = sum(bool(done.reason or done.error) for done in self.finished.values())
        note = f"{len(self.running)} running" + (f", {failed} not run" if failed else "")
        self.progress("tasks", len(self.finished), len(self.plan.tasks), note)

    def release(self) -> None:
        """Give up all claims."""
        for started in self.running.values():
            started.claim.close()


def _broken(task: Task, error: BaseException) -> Done:
    """What broke and where. A message that is not ours may hold a cell of the table: it is nowhere."""
    what = str(error) if isinstance(error, SeepageError) else f"{type(error).__name__}{_place(error)}"
    return Done(TaskDone(task=task.id, error=what), trace=without_messages(error))


def _place(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    return f" in {Path(frames[-1].filename).name}, line {frames[-1].lineno}" if frames else ""
