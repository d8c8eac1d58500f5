"""What was made of a table, in a terminal: all of it (`seepage data check`), or the remarkable (before an audit)."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal

import typer

from seepage.cli.counting import counted

if TYPE_CHECKING:
    from rich.table import Table

    from seepage.data.overview import ColumnView, Overview

_SHOWN = 8  # columns of one kind before an audit; all of them in `data check`
_NAME = 20  # letters of the longest name up to which names are kept on one line
_HEADINGS = ("column", "read as", "why", "distinct", "missing", "looks like", "what is done")


@contextmanager
def quiet_about_left_out() -> Iterator[None]:
    """No warnings about columns that are left out: the table that is printed says it."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"Column .* is dropped")
        yield


def print_check(seen: Overview, examples: dict[str, tuple[str, ...]] | None = None) -> None:
    """One table of all columns, and the notes.

    Args:
        examples: cells of each column, if the user asked to see some.
    """
    from rich.console import Console

    console = Console()
    if not console.is_terminal:
        console = Console(width=140)  # a pipe has no edge to wrap at
    typer.echo(_heading(seen))
    console.print(_table(seen, examples))
    for note in seen.notes:
        typer.echo(f"note: {note}")


def _table(seen: Overview, examples: dict[str, tuple[str, ...]] | None) -> Table:
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    longest = max((len(each.name) for each in seen.columns), default=0)
    for heading in _HEADINGS if examples is None else (*_HEADINGS, "cells"):
        whole = heading == "column" and longest <= _NAME  # sentences wrap before names do
        side: Literal["left", "right"] = "right" if heading in ("distinct", "missing") else "left"
        table.add_column(heading, justify=side, overflow="fold", no_wrap=whole)
    for each in seen.columns:
        words = [each.name, each.read_as, each.why, f"{each.distinct:,}", f"{each.missing:,}" if each.missing else "-"]
        words += ["  ".join(each.shapes), each.use]
        words += [", ".join(examples.get(each.name, ()))] if examples is not None else []
        table.add_row(*(escape(word) for word in words))
    return table


def print_short(seen: Overview) -> None:
    """What a person should know before an audit starts, on stderr."""
    typer.echo(_heading(seen), err=True)
    left = [each for each in seen.columns if each.use.startswith("left out")]
    groups: dict[str, Iterable[str]] = {
        "left out": (f"{each.name} ({each.use.removeprefix('left out: ')})" for each in left),
        "read as": (f"{each.name} {_reading(each)}" for each in seen.columns if each.remarkable),
        "filled": (f"{each.name} {each.missing:,} with {each.filled}" for each in seen.columns if each.filled),
    }
    for word, entries in groups.items():
        listed = [entry for entry in entries if entry]
        more = f"; and {len(listed) - _SHOWN} more (see seepage data check)" if len(listed) > _SHOWN else ""
        if listed:
            typer.echo(f"  {word + ':':<10}{'; '.join(listed[:_SHOWN])}{more}", err=True)
    for note in seen.notes:
        typer.echo(f"  note:     {note}", err=True)


def _reading(each: ColumnView) -> str:
    what = each.use.partition(";")[0].removeprefix("number: ")
    return f"{each.read_as} ({each.why}{', ' + what if each.read_as not in ('number', 'category') else ''})"


def _heading(seen: Overview) -> str:
    inputs = [each for each in seen.columns if not each.use.startswith(("left out", "target"))]
    numbers = sum(each.use.startswith("number") for each in inputs)
    target = next((f", target {each.name} ({each.use.removeprefix('target, ')})" for each in seen.columns
                   if each.use.startswith("target")), "")  # fmt: skip
    kinds = f"{counted(numbers, 'number')}, {counted(len(inputs) - numbers, 'category', 'categories')}"
    return f"{seen.name}: {counted(seen.rows, 'row')}, {counted(len(inputs), 'input column')} ({kinds}){target}."
