"""`seepage gate`: stop a build when something leaks more than is allowed."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from seepage._core import InputError
from seepage.cli.running import open_and_run, run_folder

ENOUGH = 20  # trials, below which a gate says what they cannot show


def gate(
    plan: Annotated[Path | None, typer.Option(help="A plan to run, a TOML file.")] = None,
    run: Annotated[Path | None, typer.Option(help="Or the folder of a finished run.")] = None,
    max_emr: Annotated[float | None, typer.Option(help="Largest share of rows read exactly, as 0 or 0.01.")] = None,
    max_gain: Annotated[
        float | None, typer.Option(help="Largest share read beyond the best guess, such as 0.05.")
    ] = None,
    out: Annotated[str, typer.Option(help="Folder for the run; auto names one below runs/.")] = "auto",
    jobs: Annotated[int | None, typer.Option(help="Processes; as in `seepage audit`.")] = None,
    backend: Annotated[str | None, typer.Option(help="local or dask; as in `seepage audit`.")] = None,
    scheduler: Annotated[str | None, typer.Option(help="backend dask: the scheduler's address.")] = None,
) -> None:
    """Run a plan of any study, and exit with 1 if anything leaks more than is allowed or could not be measured.

    The upper end of each interval is what counts. One trial has no interval, so it is not enough. Where nothing was
    read, the interval is zero however few the trials are: use many, 20 or more.
    """
    from seepage.results import Run, read_summary
    from seepage.results.gate import Limits, breaches

    limits = Limits(emr=max_emr, gain=max_gain)
    if (plan is None) == (run is None):
        raise InputError("What is to be judged? Give a plan (--plan) or a finished run (--run).")
    if run is not None:
        folder, summary = run, read_summary(Run.open(run))
    else:
        from seepage.runs import make_plan, open_sources, read_plan  # torch takes seconds to load

        assert plan is not None
        made = make_plan(read_plan(plan))
        sources = open_sources(made)
        folder = run_folder(out, f"{sources[0].name}-{plan.stem}")
        command = shlex.join(["seepage", *sys.argv[1:]])
        summary = open_and_run(made, sources, folder, command, jobs, backend, scheduler, strict=False)
    above = breaches(summary, limits)
    for breach in above:
        typer.echo(f"{breach.cell}: {breach.what}.")
    for missing in summary.not_run:
        typer.echo(f"Not run: {missing.what}. {missing.reason}")
    few = min((cell.trials - cell.failed for cell in summary.cells), default=0)
    if 1 < few < ENOUGH:
        typer.echo(
            f"note: some cells have only {few} trials. What happens in {1 - 0.05 ** (1 / few):.0%} of all cases can be "
            "missed by so few; raise trials.",
            err=True,
        )
    count = len(above) + len(summary.not_run)
    typer.echo(f"{_counted(len(summary.cells), 'cell')}, {count} above the limits or not measured. {folder}")
    if count or not summary.cells:
        raise typer.Exit(1)


def _counted(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
