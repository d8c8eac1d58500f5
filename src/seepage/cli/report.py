"""``seepage report``: write a run's report again, without running anything."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def report(
    run: Annotated[Path, typer.Argument(help="A run folder: the one that holds run.json and summary.json.")],
) -> None:
    """Write report.html of an existing run again."""
    from seepage.report import write_report
    from seepage.results import Run

    path = write_report(Run.open(run))
    typer.echo(f"The report is in {path}")
