"""`seepage compare` and `seepage export`: runs beside each other, and as CSV."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seepage._core import InputError, unknown_name
from seepage.cli.counting import counted

if TYPE_CHECKING:
    from rich.table import Table

    from seepage.results.compare import Comparison

SHOWN = 40  # lines; all of them with --json
_READ = {"accuracy": "cells read", "exact": "rows exact", "emr": "rows near"}  # as an audit calls them
WHAT = ("cells", "columns", "records")


def compare(
    first: Annotated[Path, typer.Argument(help="A run folder.")],
    second: Annotated[Path, typer.Argument(help="Another one.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Lay two runs of a study side by side: what is equal, what differs, and where the second leaks more or less.

    Other defences, attacks or batch sizes are compared across, and each line names both. A run that is not finished is
    compared as far as it is.
    """
    from seepage.cli.console import console
    from seepage.cli.unfinished import tell_missing
    from seepage.results import Run, read_summary
    from seepage.results.compare import compare as compared

    one, two = read_summary(Run.open(first)), read_summary(Run.open(second))
    for summary in (one, two):
        tell_missing(summary)
    found = compared(one, two)
    if as_json:
        typer.echo(json.dumps(asdict(found), indent=2))
        return
    if not found.differences:
        raise InputError(f"{first} and {second} have nothing in common that could be compared.")
    for sentence in _sentences(found):
        console.print(sentence, highlight=False, markup=False, soft_wrap=True)
    console.print(_table(found))
    left_out = len(found.differences) - SHOWN
    if left_out > 0:
        console.print(f"{counted(left_out, 'more line')}: seepage compare --json has them all.", highlight=False)
    for where, cells in ((first, found.only_first), (second, found.only_second)):
        if cells:
            many = counted(len(cells), "setting")
            console.print(f"Only in {where}: {many}, such as {cells[0]}.", highlight=False, markup=False)


def _sentences(found: Comparison) -> list[str]:
    """What is equal, and which settings beside coordinates differ."""
    sentences = [f"Equal in both: {found.equal}."] if found.equal else []
    if found.settings:
        sentences.append(f"Settings that differ: {'; '.join(found.settings)}.")
    if found.same_rows is False:
        sentences.append("The tables are not the same: rows or schema differ.")
    if found.computed:
        sentences.append(
            f"Computed by different things: {'; '.join(found.computed)}. Small changes may come from that alone."
        )
    return sentences


def _table(found: Comparison) -> Table:
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    shown = found.differences[:SHOWN]
    differ = any(each.differs for each in shown)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("setting", *(["differs"] if differ else []), "measured", "first", "second", "change", "clear"):
        table.add_column(heading, justify="right" if heading in ("first", "second", "change") else "left")
    for each in shown:
        what = _READ.get(each.metric, each.metric)
        table.add_row(
            escape(each.cell), *([escape(each.differs)] if differ else []), what, f"{each.first:.3f}",
            f"{each.second:.3f}", f"{each.change:+.3f}", "yes" if each.clear else "within the intervals",
        )  # fmt: skip
    return table


def export(
    run: Annotated[Path, typer.Argument(help="A run folder.")],
    target: Annotated[Path, typer.Argument(help="The CSV file to write.")],
    what: Annotated[
        str, typer.Option(help="cells, columns (of every cell) or records (every number of every trial).")
    ] = "cells",
) -> None:
    """Write the numbers of a run as CSV; of one that is not finished, those that are there."""
    from seepage.cli.unfinished import tell_missing
    from seepage.results import Run, read_summary
    from seepage.results.export import export as exported
    from seepage.results.outline import OUTLINE

    if what not in WHAT:
        raise unknown_name("part of a run", what, WHAT)
    opened = Run.open(run)
    lines = exported(opened, target, what)  # type: ignore[arg-type]
    if not (run / "summary.json").exists() and (run / OUTLINE).exists():
        tell_missing(read_summary(opened))
    typer.echo(f"{target}: {lines} lines")
