"""What commands that run plans share: where the work goes, and where its folder is."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import typer

from seepage._core import InputError
from seepage.cli.console import ProgressBars


def run_whole(
    plan: Any,
    sources: Any,
    folder: Path,
    command: str,
    jobs: int | None,
    backend: str | None,
    scheduler: str | None,
    *,
    strict: bool,
) -> Any:
    """Run a plan with progress bars; its notes are told first. Returns the summary; the report is written.

    With ``strict`` nothing is run if a part cannot be; else that is told at the end.
    """
    from seepage.report import write_report
    from seepage.results import Run
    from seepage.runs import run

    for note in dict.fromkeys(note for source in sources for note in source.notes):
        typer.echo(f"note: {note}", err=True)
    with ExitStack() as stack:
        bars = stack.enter_context(ProgressBars())
        where = stack.enter_context(workers(plan, jobs, backend, scheduler))
        try:
            summary = run(
                plan, out=folder, command=command, sources=sources, backend=where, strict=strict, progress=bars
            )
        except KeyboardInterrupt:
            typer.echo(f"What is finished is kept; go on with --out {folder}", err=True)
            raise
    for name in Run.open(folder).damaged():
        typer.echo(
            f"warning: {name} was damaged; it is in {folder / 'damaged'}, and its cells were run again", err=True
        )
    write_report(Run.open(folder))
    for sentence in summary.document["not_tested"]:
        if sentence.startswith("Not run: "):
            typer.echo(f"warning: {sentence}", err=True)
    return summary


def stop_if_broken(folder: Path) -> None:
    """Exit with 1 if a training stopped with an internal error; the others are in the report."""
    from seepage.results import Run

    broken = Run.open(folder).errors()
    if broken:
        typer.echo(
            f"error: {len(broken)} trainings stopped with an internal error; the tracebacks are in "
            f"{folder / 'errors'}. Try them again with --out {folder}.",
            err=True,
        )
        raise typer.Exit(1)


@contextmanager
def workers(plan: Any, jobs: int | None, backend: str | None, scheduler: str | None) -> Iterator[Any]:
    """Where a plan runs: an audit without a grid here, others in as many processes as there are cores."""
    from seepage.runs.backends import cores, open_backend

    if jobs is not None and jobs < 1:
        raise InputError(f"--jobs is {jobs}; it must be at least 1.")
    here = backend is None and scheduler is None and (jobs == 1 or (jobs is None and len(plan.variants) == 1))
    if here:
        yield None
        return
    amount = jobs or max(1, min(cores(), len(plan.tasks)))
    with open_backend(backend or ("dask" if scheduler else "local"), jobs=amount, scheduler=scheduler) as opened:
        yield opened


def run_folder(out: str, stem: str) -> Path:
    """The run folder: the one asked for, or a new one below runs/ named after the audit and the time."""
    if out != "auto":
        return Path(out)
    base = Path("runs") / f"{stem}-{datetime.datetime.now():%Y%m%d-%H%M%S}"
    folder, number = base, 2
    while folder.exists():
        folder, number = base.with_name(f"{base.name}-{number}"), number + 1
    return folder
