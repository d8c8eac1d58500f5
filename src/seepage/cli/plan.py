"""`seepage plan`: what a plan would run, before it is run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seepage._core.stopwatch import duration
from seepage.cli.counting import counted

if TYPE_CHECKING:
    from seepage.runs import Plan
    from seepage.studies.study import Opened

app = typer.Typer(help="Plans: runs in a TOML file, with grids.", no_args_is_help=True)
PlanFile = Annotated[Path, typer.Argument(help="The plan, a TOML file.")]


@app.callback()
def plan() -> None:
    """Plans: runs in a TOML file, with grids."""


@app.command("validate")
def validate(path: PlanFile) -> None:
    """Check a plan: every key and name, and every task against its table. Nothing is run or written."""
    from seepage.runs.probe import impossible

    made, sources = _opened(path)
    wrong = impossible(made, sources)
    typer.echo(
        f"{path}: study {made.study.name}, {counted(len(made.tasks), 'task')} in "
        f"{counted(len(made.variants), 'variant')}, {len(wrong)} cannot be run."
    )
    for each in wrong:
        typer.echo(f"  {each.task.label}: {each.reason}")
    if wrong:
        raise typer.Exit(1)


@app.command("show")
def show(
    path: PlanFile,
    probe: Annotated[float, typer.Option(help="Seconds for trying kinds of work; 0 for no estimate.")] = 60.0,
    jobs: Annotated[int | None, typer.Option(help="Processes to estimate for; as many as cores if not given.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show what a plan would run, how long it would take, and how much memory."""
    from seepage.cli.console import ProgressBars, console
    from seepage.runs.backends import cores
    from seepage.runs.probe import estimate, impossible
    from seepage.runs.threads import own_threads

    made, sources = _opened(path)
    wrong = impossible(made, sources)
    amount = jobs or cores()
    with ProgressBars() as bars, own_threads():
        cost = estimate(made, sources, limit=probe, skip=wrong, progress=bars) if probe > 0 else None
    memory = cost.memory * min(amount, max(cost.tasks, 1)) if cost else None
    tried = f"{cost.tried} of {cost.kinds} kinds of work" if cost else "nothing"
    if as_json:
        facts = {
            "study": made.study.name,
            "tasks": len(made.tasks),
            "impossible": [{"task": each.task.label, "reason": each.reason} for each in wrong],
            "cells": cost.cells if cost else None,
            "seconds": cost.wall(amount) if cost else None,
            "memory_bytes": memory,
            "processes": amount,
            "probed": tried,
        }
        typer.echo(json.dumps(facts, indent=2))
        return
    _print_variants(made, sources)
    for each in wrong:
        console.print(f"cannot be run: {each.task.label}: {each.reason}", highlight=False, markup=False)
    console.print(f"{counted(len(made.tasks), 'task')}, {len(wrong)} of them impossible.", highlight=False)
    if cost is not None and memory is not None:
        console.print(
            f"{counted(cost.cells, 'cell')}, about {duration(cost.wall(amount))} in {amount} processes, about "
            f"{memory / 2**30:.1f} GB. Tried: {tried}.",
            highlight=False,
        )


def _print_variants(plan: Plan, sources: Sequence[Opened]) -> None:
    """What differs between the variants, and the coordinates of cells."""
    from rich import box
    from rich.table import Table

    from seepage.cli.console import console

    names = [name for name in type(plan.variants[0].settings).model_fields if name in plan.study.said]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("variant", "table", *(name.replace("_", " ") for name in names)):
        table.add_column(heading)
    for variant, source in zip(plan.variants, sources, strict=True):
        values = [getattr(variant.settings, name) for name in names]
        words = [", ".join(map(str, value)) if isinstance(value, tuple) else str(value) for value in values]
        table.add_row(variant.name or "-", source.name, *words)
    console.print(table)


def _opened(path: Path) -> tuple[Plan, Sequence[Opened]]:
    from seepage.runs import make_plan, open_sources, read_plan

    made = make_plan(read_plan(path))
    return made, open_sources(made)
