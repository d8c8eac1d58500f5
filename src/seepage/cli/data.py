"""``seepage data``: the data sets by name, where they come from, and the schema of any table."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from pydantic import JsonValue

from seepage._core import InputError

if TYPE_CHECKING:
    from seepage.data import DataSet, Schema
    from seepage.data.schema import LearningTask

app = typer.Typer(no_args_is_help=True, help="Data sets by name, and the schema of a table.")


class SourceName(StrEnum):
    """Where a data set is taken from."""

    auto = "auto"
    mirror = "mirror"
    openml = "openml"
    file = "file"


class TaskName(StrEnum):
    """What kind of target it is."""

    binary = "binary"
    multiclass = "multiclass"
    regression = "regression"


PathOption = Annotated[Path | None, typer.Option("--path", help="Your own copy (with --source file).")]


@app.command("list")
def list_datasets(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """List the data sets that can be named instead of a file."""
    from rich.console import Console
    from rich.table import Table

    from seepage.data.registry import BROKEN, DATASETS  # polars takes a while, and help must be there at once

    facts = [_facts(dataset) for dataset in DATASETS.values()]
    if as_json:
        typer.echo(json.dumps(facts, indent=2))
        return
    table = Table(box=None, pad_edge=False)
    for heading in ("name", "rows", "columns", "task", "target", "source", "cached"):
        table.add_column(heading, justify="right" if heading in ("rows", "columns") else "left", no_wrap=True)
    for fact in facts:
        size = [f"{fact[key]:,}" if fact[key] else "-" for key in ("rows", "columns")]
        cached = "yes" if fact["cached"] else "no"
        words = [str(fact[key]) for key in ("task", "target", "source")]
        table.add_row(str(fact["name"]), *size, *words, cached)
    console = Console()
    if not console.is_terminal:
        console = Console(width=110)  # a pipe has no width of its own, and names must not be cut there
    console.print(table)
    for name, reason in BROKEN.items():
        typer.echo(f"{name}  cannot be loaded: {reason}")


@app.command()
def fetch(
    name: Annotated[str, typer.Argument(help="Name of a data set (see `seepage data list`).")],
    source: Annotated[SourceName, typer.Option(help="Where to take it from.")] = SourceName.auto,
    path: PathOption = None,
) -> None:
    """Fetch a data set, check it, and show its terms."""
    from rich.console import Console

    from seepage.data.registry import find_dataset, open_dataset

    console = Console(stderr=True)
    if console.is_terminal:
        with console.status(f"Fetching {name} ..."):
            frame, schema = open_dataset(name, source=source.value, path=path)
    else:
        frame, schema = open_dataset(name, source=source.value, path=path)
    dataset = find_dataset(name)
    typer.echo(f"{dataset.title}: {frame.height:,} rows x {frame.width} columns")
    typer.echo(f"  columns:   {_kinds(schema)}")
    typer.echo(f"  target:    {schema.target.name} ({schema.target.task})")
    typer.echo(f"  where:     {_where(dataset, source, path)}")
    typer.echo(f"  package:   licence {dataset.package_licence}")
    typer.echo(f"  data:      {dataset.origin}")
    typer.echo(f"  terms:     {dataset.terms}")


@app.command()
def schema(
    table: Annotated[str, typer.Argument(help="A CSV or Parquet file, or the name of a data set.")],
    target: Annotated[str | None, typer.Option(help="The column to predict; a named data set has one.")] = None,
    task: Annotated[TaskName | None, typer.Option(help="Guessed when not given.")] = None,
    drop: Annotated[list[str] | None, typer.Option(help="A column to leave out; may be repeated.")] = None,
    out: Annotated[Path | None, typer.Option(help="Write the schema to this TOML file.")] = None,
) -> None:
    """Print or write the schema of a table."""
    found = _schema_of(table, target, task.value if task else None, tuple(drop or ()))
    if out is None:
        typer.echo(found.to_toml(), nl=False)
        return
    found.write(out)
    typer.echo(f"Wrote {out}: {_kinds(found)}, {len(found.dropped)} dropped.")


def _schema_of(table: str, target: str | None, task: LearningTask | None, drop: tuple[str, ...]) -> Schema:
    from seepage.data import infer_schema, read_frame
    from seepage.data.registry import is_dataset, open_dataset

    if is_dataset(table) and not Path(table).exists():
        frame, named = open_dataset(table)
        if task is None and not drop and target in (None, named.target.name):
            return named
        return infer_schema(frame, target or named.target.name, task=task, drop=drop)
    if target is None:
        raise InputError("--target is needed: the column to predict.")
    return infer_schema(read_frame(Path(table)), target, task=task, drop=drop)


def _facts(dataset: DataSet) -> dict[str, JsonValue]:
    return {
        "name": dataset.name,
        "title": dataset.title,
        "rows": dataset.rows or None,
        "columns": dataset.columns or None,
        "task": dataset.task,
        "target": dataset.target,
        "source": dataset.source,
        "package": dataset.mirror[0].requirement if dataset.mirror else None,
        "openml": dataset.openml.number if dataset.openml else None,
        "cached": dataset.is_cached,
        "package_licence": dataset.package_licence,
        "origin": dataset.origin,
        "terms": dataset.terms,
    }


def _kinds(schema: Schema) -> str:
    return f"{len(schema.numeric)} numeric, {len(schema.categorical)} categorical"


def _where(dataset: DataSet, source: SourceName, path: Path | None) -> str:
    if path is not None:
        return str(path)
    if dataset.make is not None:
        return "made when it is opened"
    if dataset.is_cached and source is not SourceName.openml:
        return ", ".join(str(member.cached_at) for member in dataset.mirror)
    return "OpenML, kept in the cache"
