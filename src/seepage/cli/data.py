"""``seepage data``: the data sets by name, where they come from, and the schema of any table."""

from __future__ import annotations

import json
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from pydantic import BaseModel, ConfigDict, JsonValue

from seepage._core import InputError
from seepage._core.option import MAIN, Option
from seepage.cli.declared import Typed, make_command, pairs, split
from seepage.cli.grouped import GroupedCommand
from seepage.data.request import Request, check_there
from seepage.plans.options import checked

if TYPE_CHECKING:
    import polars as pl

    from seepage.data import DataSet, Schema

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


class CheckOptions(BaseModel):
    """What `seepage data check` is asked, beside what is said about the table."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    file: Annotated[str | None, Option(help="A CSV, Excel or Parquet file, or a data set's name.", positional=True)] = (
        None
    )
    reveal: Annotated[bool, Option(help="Show some cells of every column beside their shapes.", group=MAIN)] = False


def _check(context: typer.Context, typed: Typed) -> None:
    from seepage.cli.tables import print_check, quiet_about_left_out

    own, about = split(typed, CheckOptions)
    options = checked(CheckOptions, own)
    if options.file is None:
        raise InputError("Which table is to be checked? seepage data check FILE --target COLUMN")
    check_there(options.file)
    request = checked(Request, {**about, "data": options.file})
    from seepage.data.source import look_at

    with quiet_about_left_out():
        seen, written = look_at(request)
    examples = {name: _cells(written[name]) for name in written.columns} if options.reveal else None
    print_check(seen, examples)


def _cells(series: pl.Series) -> tuple[str, ...]:
    return tuple(str(cell) for cell in series.drop_nulls().head(200).unique(maintain_order=True).head(3).to_list())


_ABOUT = ("target", "task", "read_as", "drop", "group", "schema_file", "path")
CHECK = "Show how the columns of a table are read, why, and what is done with them; no cell of it is shown."
app.command("check", cls=GroupedCommand)(
    make_command({**CheckOptions.model_fields, **{name: Request.model_fields[name] for name in _ABOUT}}, CHECK, _check)
)


def _listed(given: Iterable[str]) -> tuple[str, ...]:
    """Names separated by commas, as every audit takes them; the option may be repeated as well."""
    return tuple(name.strip() for each in given for name in each.split(",") if name.strip())


@app.command()
def schema(
    table: Annotated[str, typer.Argument(help="A CSV, Excel or Parquet file, or the name of a data set.")],
    target: Annotated[str | None, typer.Option(help="The column to predict; a named data set has one.")] = None,
    task: Annotated[TaskName | None, typer.Option(help="Guessed when not given.")] = None,
    drop: Annotated[list[str] | None, typer.Option(help="Columns to leave out, separated by commas.")] = None,
    read_as: Annotated[
        list[str] | None, typer.Option("--as", help="How to read a column: name=category, for instance.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Write the schema to this TOML file.")] = None,
) -> None:
    """Print or write the schema of a table."""
    values = {"data": table, "target": target, "task": task.value if task else None, "drop": _listed(drop or ())}
    found = _schema_of({**values, "read_as": pairs("--as", read_as or [])})
    if out is None:
        typer.echo(found.to_toml(), nl=False)
        return
    found.write(out)
    typer.echo(f"Wrote {out}: {_kinds(found)}, {len(found.dropped)} dropped.")


def _schema_of(values: Typed) -> Schema:
    if values["target"] is None and not Request(data=values["data"]).named:
        raise InputError("--target is needed: the column to predict.")
    check_there(values["data"])
    request = checked(Request, values)
    from seepage.data.source import open_source

    return open_source(request).table.schema


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
