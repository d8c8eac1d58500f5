"""``seepage report``: write a run's report again, without running anything."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def report(
    run: Annotated[Path, typer.Argument(help="A run folder: the one that holds run.json.")],
) -> None:
    """Write report.html of a run again; of one that is not finished, the report of what is there."""
    from seepage.cli.unfinished import tell_missing
    from seepage.report import write_report
    from seepage.results import Run, read_summary

    opened = Run.open(run)
    path = write_report(opened)
    if not (run / "summary.json").exists():
        tell_missing(read_summary(opened))
    typer.echo(f"The report is in {path}")
