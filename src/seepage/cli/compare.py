"""`seepage compare` and `seepage export`: finished runs beside each other, and as CSV."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from seepage._core import InputError, unknown_name

SHOWN = 40  # lines; all of them with --json
WHAT = ("cells", "columns", "records")


def compare(
    first: Annotated[Path, typer.Argument(help="A run folder.")],
    second: Annotated[Path, typer.Argument(help="Another one.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Lay two runs side by side: where the second leaks more or less than the first."""
    from rich import box
    from rich.table import Table

    from seepage.cli.console import console
    from seepage.results import Run, read_summary
    from seepage.results.compare import compare as compared

    found = compared(read_summary(Run.open(first)), read_summary(Run.open(second)))
    if as_json:
        typer.echo(json.dumps(asdict(found), indent=2))
        return
    if not found.differences:
        raise InputError(f"{first} and {second} have no cell in common; the same tables and settings can be compared.")
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("cell", "metric", "first", "second", "change", "clear"):
        table.add_column(heading, justify="left" if heading in ("cell", "metric", "clear") else "right")
    for each in found.differences[:SHOWN]:
        table.add_row(
            each.cell, each.metric, f"{each.first:.3f}", f"{each.second:.3f}", f"{each.change:+.3f}",
            "yes" if each.clear else "within the intervals",
        )  # fmt: skip
    console.print(table)
    for where, cells in ((first, found.only_first), (second, found.only_second)):
        if cells:
            console.print(
                f"Only in {where}: {len(cells)} of the cells, such as {cells[0]}.", highlight=False, markup=False
            )


def export(
    run: Annotated[Path, typer.Argument(help="A run folder.")],
    target: Annotated[Path, typer.Argument(help="The CSV file to write.")],
    what: Annotated[
        str, typer.Option(help="cells, columns (of every cell) or records (every number of every trial).")
    ] = "cells",
) -> None:
    """Write the numbers of a run as CSV."""
    from seepage.results import Run
    from seepage.results.export import export as exported

    if what not in WHAT:
        raise unknown_name("part of a run", what, WHAT)
    lines = exported(Run.open(run), target, what)  # type: ignore[arg-type]
    typer.echo(f"{target}: {lines} lines")
