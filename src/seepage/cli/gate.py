"""`seepage gate`: stop a build when a table leaks more than is allowed."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from seepage._core import InputError
from seepage.cli.running import run_folder, run_whole
from seepage.results import Run
from seepage.results.gate import Limits, breaches

ENOUGH = 20  # attacked batches, below which a gate says what they cannot show


def gate(
    plan: Annotated[Path | None, typer.Option(help="A plan to run, a TOML file.")] = None,
    run: Annotated[Path | None, typer.Option(help="Or the folder of a run that is finished.")] = None,
    max_emr: Annotated[float | None, typer.Option(help="Largest share of rows read exactly, as 0 or 0.01.")] = None,
    max_gain: Annotated[
        float | None, typer.Option(help="Largest share of cells read beyond the best guess, as 0.05.")
    ] = None,
    out: Annotated[str, typer.Option(help="Folder for the run; `auto` names one below runs/.")] = "auto",
    jobs: Annotated[int | None, typer.Option(help="Processes; as in `seepage audit`.")] = None,
    backend: Annotated[str | None, typer.Option(help="local or dask; as in `seepage audit`.")] = None,
    scheduler: Annotated[str | None, typer.Option(help="backend dask: the scheduler's address.")] = None,
) -> None:
    """Run a plan and exit with 1 if anything leaks more than is allowed, or could not be measured.

    Judged is the upper end of each interval; one attacked batch has none, so it is not enough. Where nothing was read,
    the interval is zero however few the trials are: use many, 20 or more.
    """
    limits = Limits(emr=max_emr, gain=max_gain)
    if (plan is None) == (run is None):
        raise InputError("What is to be judged? Give a plan (--plan) or a finished run (--run).")
    if run is not None:
        folder, summary = run, Run.open(run).summary()
    else:
        from seepage.runs import make_plan, open_sources, read_plan  # torch takes seconds to load

        assert plan is not None
        whole = make_plan({"data": None} | read_plan(plan))
        sources = open_sources(whole)
        folder = run_folder(out, f"{sources[0].name}-{plan.stem}")
        command = shlex.join(["seepage", *sys.argv[1:]])
        summary = run_whole(whole, sources, folder, command, jobs, backend, scheduler, strict=False)
    found = breaches(summary.cells, limits)
    missing = [sentence for sentence in summary.document["not_tested"] if sentence.startswith("Not run:")]
    for breach in found:
        typer.echo(f"{breach.cell}: {breach.what}.")
    for sentence in missing:
        typer.echo(sentence)
    few = min((cell["trials"] - cell["failed"] for cell in summary.cells), default=0)
    if 1 < few < ENOUGH:
        typer.echo(
            f"note: there are cells with {few} attacked batches only. What happens in {1 - 0.05 ** (1 / few):.0%} of "
            "all batches can be missed by so few; raise trials.",
            err=True,
        )
    typer.echo(f"{len(summary.cells)} cells, {len(found) + len(missing)} above the limits or not measured. {folder}")
    if found or missing or not summary.cells:
        raise typer.Exit(1)
