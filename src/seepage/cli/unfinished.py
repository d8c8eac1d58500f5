"""What commands say of a run that is not finished."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from seepage.results import Summary

NAMED = 5  # of what is missing


def tell_missing(summary: Summary) -> None:
    """Say on stderr how much of a run is there, and what is not; nothing of one that is finished."""
    if summary.unfinished is None:
        return
    missing = [entry.what for entry in summary.not_run if entry.state == "missing"]
    more = f"; and {len(missing) - NAMED} more" if len(missing) > NAMED else ""
    named = f" Missing: {'; '.join(missing[:NAMED])}{more}." if missing else ""
    where = f"{summary.path}: " if summary.path else ""
    typer.echo(f"note: {where}{summary.unfinished.sentence}{named}", err=True)
