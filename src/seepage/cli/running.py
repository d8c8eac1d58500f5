"""What commands that run plans share: where the work goes, where its folder is, and what is shown at the end."""

from __future__ import annotations

import datetime
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from pydantic import BaseModel, ConfigDict, Field

from seepage._core import InputError
from seepage._core.option import MAIN, RUNNING, Option
from seepage._core.paths import user_path

BACKEND = Option(
    help="Where tasks run: local (processes) or dask (a cluster; on this machine if no address is given).",
    group=RUNNING,
)
SCHEDULER = Option(help="backend dask: the scheduler's address, tls://HOST:PORT.", group=RUNNING)
PLAIN_TCP = Option(
    help="backend dask: take a scheduler at tcp://HOST:PORT. Whoever reaches that port can run code as you.",
    group=RUNNING,
)


class Where(BaseModel):
    """Where a run goes and where its tasks run."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    out: Annotated[
        str,
        Option(help="Folder for the run; auto names one below runs/. A run that is there is continued.", group=MAIN),
    ] = "auto"
    jobs: Annotated[
        int | None,
        Field(ge=1),
        Option(help="Processes; one for a single table, as many as cores for a plan with a grid.", group=RUNNING),
    ] = None
    backend: Annotated[str | None, BACKEND] = None
    scheduler: Annotated[str | None, SCHEDULER] = None
    plain_tcp: Annotated[bool, PLAIN_TCP] = False
    yes: Annotated[
        bool,
        Option(
            help="Run without asking what would take more than an hour, or more than half of the machine's memory.",
            group=RUNNING,
        ),
    ] = False


if TYPE_CHECKING:
    from seepage.results import Summary
    from seepage.runs import Plan
    from seepage.runs.backends import Backend
    from seepage.studies.study import Opened


def open_and_run(
    plan: Plan,
    sources: Sequence[Opened],
    folder: Path,
    command: str,
    where: Where,
    *,
    strict: bool,
    expected: float | None = None,
) -> Summary:
    """Run a plan with progress bars; its notes are told first. Returns the summary; the report is written.

    With ``strict`` nothing is run if a part cannot be; else that is told at the end. ``expected`` seconds are told
    beside the time that went by.
    """
    from seepage.cli.console import ProgressBars
    from seepage.cli.tables import print_short
    from seepage.report import write_report
    from seepage.results import Run
    from seepage.runs import run

    with told_to_stop(folder), ExitStack() as stack:
        backend = stack.enter_context(workers(plan, where))
        for seen in {id(source): source.overview for source in sources if source.overview}.values():
            print_short(seen)
        for note in dict.fromkeys(note for source in sources for note in source.notes):
            typer.echo(f"note: {note}", err=True)
        bars = stack.enter_context(ProgressBars(expected))
        summary = run(plan, out=folder, command=command, sources=sources, backend=backend, strict=strict, progress=bars)
    for name in Run.open(folder).damaged():
        typer.echo(
            f"warning: {name} was damaged; it is in {folder / 'damaged'}, and what was in it was made again", err=True
        )
    write_report(Run.open(folder))
    for missing in summary.not_run:
        typer.echo(f"warning: not run: {missing.what}. {missing.reason}", err=True)
    return summary


@contextmanager
def told_to_stop(folder: Path, state: str = "run.json") -> Iterator[None]:
    """Tells how to go on after an interrupt. The bars must be gone by then: they would be drawn over it."""
    try:
        yield
    except KeyboardInterrupt:
        if (folder / state).exists():
            typer.echo(f"What is finished is kept. To continue: the same command with --out {folder}", err=True)
        if (folder / "run.json").exists():
            typer.echo(f"To see what is there: seepage report {folder}", err=True)
        raise


def finish(summary: Summary, folder: Path, as_json: bool, *, told: bool = False) -> None:
    """Show what came out, unless it was told as it came; exit with 1 if a task stopped with an internal error."""
    from seepage.cli.console import console, print_summary
    from seepage.results import Run

    if as_json:
        typer.echo(summary.to_json(), nl=False)
    else:
        if not told:
            print_summary(summary)
        lines = {"Report": folder / "report.html", "Summary": folder / "summary.json", "Model": folder / "model"}
        for word, path in lines.items():
            if path.exists():
                console.print(f"{word:<8} {path}", highlight=False, soft_wrap=True, markup=False)
    broken = Run.open(folder).errors()
    if broken:
        count = "1 task" if len(broken) == 1 else f"{len(broken)} tasks"
        typer.echo(
            f"error: {count} stopped with an internal error; the tracebacks are in {folder / 'errors'}. Try again with "
            f"--out {folder}.",
            err=True,
        )
        raise typer.Exit(1)


def processes(plan: Plan, where: Where) -> int | None:
    """How many processes a plan runs in; None if it runs in this one."""
    from seepage.runs.backends import cores

    jobs, named = where.jobs, where.backend is not None or where.scheduler is not None
    alone = len(plan.tasks) == 1 or (len(plan.variants) == 1 and plan.study.name in ("rows", "vertical", "updates"))
    if not named and (jobs == 1 or (jobs is None and alone)):
        return None
    return jobs or max(1, min(cores(), len(plan.tasks)))


@contextmanager
def workers(plan: Plan, where: Where) -> Iterator[Backend | None]:
    """Where a plan runs: one without a grid here, others in as many processes as there are cores."""
    from seepage.runs.backends import asked_backend

    with asked_backend(
        where.backend,
        jobs=where.jobs,
        amount=processes(plan, where),
        scheduler=where.scheduler,
        plain_tcp=where.plain_tcp,
    ) as opened:
        yield opened


def ask(sentence: str | None, where: Where) -> None:
    """What is said before a run that is too much: a question on a terminal, an error in a pipe, a note with --yes."""
    if sentence is None:
        return
    if where.yes:
        typer.echo(f"note: {sentence}", err=True)
    elif not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise InputError(f"{sentence} Ask for less, or run it all the same with --yes.")
    elif not typer.confirm(f"{sentence} Run it all the same?", err=True):
        raise InputError("Nothing was run.")


def run_folder(out: str, stem: str) -> Path:
    """The run folder: the one asked for, or a new one below runs/ named after the run and the time."""
    if out != "auto":
        return user_path(out)
    base = Path("runs") / f"{stem}-{datetime.datetime.now():%Y%m%d-%H%M%S}-{os.getpid() % 10_000:04}"
    folder, number = base, 2  # two that start in the same second are told apart by their processes
    while folder.exists():
        folder, number = base.with_name(f"{base.name}-{number}"), number + 1
    return folder
