"""`seepage plan`: what a plan would run, before it is run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich import box
from rich.table import Table

from seepage.cli.console import ProgressBars, console

app = typer.Typer(help="Plans: audits in a TOML file, with grids.", no_args_is_help=True)
PlanFile = Annotated[Path, typer.Argument(help="The plan, a TOML file.")]


@app.callback()
def plan() -> None:
    """Plans: audits in a TOML file, with grids."""


@app.command("validate")
def validate(path: PlanFile) -> None:
    """Check a plan: every key and name, and every training against its table. Nothing is run or written."""
    from seepage.runs.probe import impossible

    whole, sources = _opened(path)
    wrong = impossible(whole, sources)
    typer.echo(f"{path}: {len(whole.tasks)} trainings in {len(whole.variants)} variants, {len(wrong)} cannot be run.")
    for each in wrong:
        typer.echo(f"  {_said(each.task)}: {each.reason}")
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
    from seepage.runs.backends import cores
    from seepage.runs.probe import estimate, impossible

    whole, sources = _opened(path)
    wrong = impossible(whole, sources)
    amount = jobs or cores()
    with ProgressBars() as bars:
        found = estimate(whole, sources, limit=probe, skip=wrong, progress=bars) if probe > 0 else None
    facts = {
        "trainings": len(whole.tasks),
        "impossible": [{"training": _said(each.task), "reason": each.reason} for each in wrong],
        "cells": found.cells if found else None,
        "seconds": found.wall(amount) if found else None,
        "memory_bytes": found.memory * min(amount, max(found.tasks, 1)) if found else None,
        "processes": amount,
        "probed": f"{found.probed} of {found.kinds} kinds of work" if found else "nothing",
    }
    if as_json:
        typer.echo(json.dumps(facts, indent=2))
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("variant", "table", "protocol", "models", "defences", "batches", "attacks", "points", "trials"):
        table.add_column(heading)
    for variant, source in zip(whole.variants, sources, strict=True):
        each = variant.settings
        batches = ", ".join(str(size) for size in each.batch_sizes)
        table.add_row(
            variant.name or "-", source.name, each.protocol, ", ".join(each.models), ", ".join(each.defenses), batches,
            ", ".join(each.attacks), ", ".join(each.attack_points), str(each.trials),
        )  # fmt: skip
    console.print(table)
    for entry in facts["impossible"]:  # type: ignore[attr-defined]
        console.print(f"cannot be run: {entry['training']}: {entry['reason']}", highlight=False, markup=False)
    console.print(f"{len(whole.tasks)} trainings, {len(wrong)} of them impossible.", highlight=False)
    if found is not None:
        console.print(
            f"{found.cells} cells, about {_time(found.wall(amount))} in {amount} processes, about "
            f"{facts['memory_bytes'] / 2**30:.1f} GB. Probed: {facts['probed']}.",  # type: ignore[operator]
            highlight=False,
        )


def _opened(path: Path) -> tuple[Any, Any]:
    from seepage.runs import make_plan, open_sources, read_plan

    whole = make_plan({"data": None} | read_plan(path))
    return whole, open_sources(whole)


def _said(task: Any) -> str:
    parts = [str(task.variant.request.data), task.variant.settings.protocol, task.choice.model]
    parts += [f"batch {task.choice.batch_size}", task.choice.defense, task.variant.name]
    return ", ".join(part for part in parts if part and part != "none")


def _time(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
