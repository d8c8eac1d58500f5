"""`seepage serve`: the local page of runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def serve(
    runs: Annotated[Path, typer.Argument(help="The folder that holds run folders, and captures.")] = Path("runs"),
    port: Annotated[int, typer.Option(help="Port on 127.0.0.1; 0 takes a free one.")] = 0,
) -> None:
    """Show runs and captures in a browser: a list, growing ones live, reports, two compared. On this machine only."""
    from seepage.report.local import LocalPage

    with LocalPage(runs, port) as page:
        typer.echo(f"Open {page.address}")
        typer.echo("Ctrl-C ends it.")
        page.serve_forever()
