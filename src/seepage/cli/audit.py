"""`seepage audit`: the audit from the command line."""

from __future__ import annotations

import json
import shlex
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from seepage._core import InputError
from seepage.cli.console import ProgressBars, console, print_property, print_summary
from seepage.cli.options import integers, names, options
from seepage.cli.running import run_folder, run_whole, stop_if_broken


def audit(
    context: typer.Context,
    data: Annotated[
        str | None, typer.Option(help="A data set's name (see `seepage data list`), or a CSV or Parquet file.")
    ] = None,
    plan: Annotated[
        Path | None, typer.Option(help="A TOML file with the settings; options given beside it go before.")
    ] = None,
    target: Annotated[str | None, typer.Option(help="The column to predict; named data sets know theirs.")] = None,
    protocol: Annotated[
        str, typer.Option(help="fedsgd, fedavg or vertical (batches chosen by the server).")
    ] = "fedsgd",
    model: Annotated[
        str,
        typer.Option(
            help="mlp, mlp_tableak, resnet, ft_transformer, tabnet or linear; options as in mlp:width=64; several "
            "with commas."
        ),
    ] = "mlp",
    defense: Annotated[
        str,
        typer.Option(
            help="Defences (see `seepage defenses list`), such as gaussian_noise:0.01 or dp_sgd:clip=1:noise=0.5; "
            "several with commas."
        ),
    ] = "none",
    batch_size: Annotated[str, typer.Option(help="Rows of a mini batch; several with commas.")] = "8",
    attacks: Annotated[
        str, typer.Option(help="Attacks (see `seepage attacks list`), such as tableak:steps=500; several with commas.")
    ] = "exact",
    trials: Annotated[int, typer.Option(help="Attacked batches per cell.")] = 10,
    seed: Annotated[int, typer.Option(help="Everything random comes from it.")] = 0,
    out: Annotated[str, typer.Option(help="Folder for the run; `auto` names one below runs/.")] = "auto",
    property_text: Annotated[
        str | None, typer.Option("--property", help="attack property: whose share is asked, as \"sex == 'Female'\".")
    ] = None,
    classes: Annotated[str, typer.Option(help="attack property: into how many ranges the share is cut.")] = "4",
    loss: Annotated[
        str, typer.Option(help="attack property: nll, interval, sor, coral, corn or share; several with commas.")
    ] = "sor",
    hierarchy: Annotated[
        str | None,
        typer.Option(help="attack property: also in two steps, such as 4x5 for 20 classes; several with commas."),
    ] = None,
    models_per_class: Annotated[int, typer.Option(help="attack property: shadow and target models for each.")] = 256,
    rows_per_model: Annotated[
        int | None, typer.Option(help="attack property: rows each is trained on; a fifth of the pool if not given.")
    ] = None,
    observed: Annotated[
        str, typer.Option(help="attack property: weights of a model, or the update or gradient of a client.")
    ] = "weights",
    rounds: Annotated[
        int, typer.Option(help="attack property: rounds in which a client's update or gradient is seen.")
    ] = 1,
    reader: Annotated[
        str | None, typer.Option(help="attack property: what is seen of a model: paths, deepsets, sorted or flat.")
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(help="Processes; one for an audit, as many as cores for a plan with a grid.")
    ] = None,
    backend: Annotated[
        str | None,
        typer.Option(help="Where a plan runs: local (processes) or dask (a cluster; loopback if no address)."),
    ] = None,
    scheduler: Annotated[
        str | None, typer.Option(help="backend dask: the scheduler's address, tcp://HOST:PORT or tls://HOST:PORT.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print summary.json on stdout, and nothing else there.")
    ] = False,
    reveal: Annotated[
        bool, typer.Option(help="Show true and reconstructed rows in the report. They are private.")
    ] = False,
    task: Annotated[str | None, typer.Option(help="binary, multiclass or regression; guessed when not given.")] = None,
    schema: Annotated[Path | None, typer.Option(help="A schema file (see `seepage data schema`).")] = None,
    drop: Annotated[str | None, typer.Option(help="Columns to leave out, with commas.")] = None,
    sensitive: Annotated[str | None, typer.Option(help="Columns to put first in the report, with commas.")] = None,
    group: Annotated[
        str | None, typer.Option(help="Column that says whose row it is; splits keep people whole.")
    ] = None,
    path: Annotated[Path | None, typer.Option(help="Your own copy of a named data set.")] = None,
    fallback: Annotated[str | None, typer.Option(help="A data set to take if the named one cannot be fetched.")] = None,
    attack_points: Annotated[
        str,
        typer.Option(help="initialized, 25%, 50%, 75%, final; or auto for all five; or exposures such as 0,1,5."),
    ] = "initialized,final",
    attack_option: Annotated[
        list[str] | None, typer.Option(help="A setting of the attacks, such as steps=2000.")
    ] = None,
    model_option: Annotated[list[str] | None, typer.Option(help="A setting of the model, such as width=64.")] = None,
    clients: Annotated[int | None, typer.Option(help="Clients; 10 for fedsgd, 3 for fedavg.")] = None,
    partition: Annotated[str, typer.Option(help="iid, dirichlet, quantity or column.")] = "iid",
    alpha: Annotated[float, typer.Option(help="Of dirichlet and quantity: smaller is more uneven.")] = 1.0,
    partition_column: Annotated[str | None, typer.Option(help="Of `--partition column`.")] = None,
    exposure: Annotated[float | None, typer.Option(help="Train until each client saw its rows this often.")] = None,
    learning_rate: Annotated[float, typer.Option(help="Of the server (fedsgd) or the local steps (fedavg).")] = 0.01,
    local_rows: Annotated[str, typer.Option(help="fedavg: rows each client works on, or `all`.")] = "32",
    local_batches: Annotated[int | None, typer.Option(help="fedavg: mini batches a round; all when not given.")] = None,
    local_epochs: Annotated[int, typer.Option(help="fedavg: passes over the rows before sending.")] = 1,
    fixed_batch: Annotated[bool, typer.Option(help="Attack the same batch of each client at every point.")] = False,
    positive_weight: Annotated[float, typer.Option(help="Weight of the positive class in the loss.")] = 1.0,
    numbers: Annotated[str, typer.Option(help="standard, minmax or none.")] = "standard",
    standardise_onehot: Annotated[bool, typer.Option(help="Standardise one-hot inputs too, as TabLeak does.")] = False,
    global_statistics: Annotated[bool, typer.Option(help="Clients scale with pooled statistics.")] = False,
    labels_unknown: Annotated[bool, typer.Option(help="The attacker does not know the labels.")] = False,
    ranges_known: Annotated[bool, typer.Option(help="The attacker knows the range of every number.")] = False,
    people: Annotated[int, typer.Option(help="vertical: aligned rows at the workers.")] = 2000,
    batches: Annotated[
        int | None, typer.Option(help="vertical: batches seen; 1.1 for each person if not given.")
    ] = None,
    deviation: Annotated[str, typer.Option(help="Tolerance from the client's deviation, or global.")] = "client",
) -> None:
    """Train a federation on a table, attack what the server sees, and report how much of the rows it reads back."""
    from seepage.runs import (
        command_line,
        make_plan,
        open_sources,
        prepare,
        read_plan,
        with_typed,
    )  # torch takes seconds

    values = {
        "data": data,
        "target": target,
        "task": task,
        "drop": names(drop),
        "sensitive": names(sensitive),
        "group": group,
        "schema": schema,
        "path": path,
        "fallback": fallback,
        "protocol": protocol,
        "models": names(model),
        "model_options": options("--model-option", model_option),
        "defenses": names(defense),
        "batch_sizes": integers("--batch-size", batch_size),
        "attacks": names(attacks),
        "attack_options": options("--attack-option", attack_option),
        "attack_points": names(attack_points),
        "trials": trials,
        "seed": seed,
        "clients": clients,
        "partition": partition,
        "alpha": alpha,
        "partition_column": partition_column,
        "exposure": exposure,
        "learning_rate": learning_rate,
        "local_rows": None if local_rows == "all" else integers("--local-rows", local_rows)[0],
        "local_batches": local_batches,
        "local_epochs": local_epochs,
        "fixed_batch": fixed_batch,
        "positive_weight": positive_weight,
        "numbers": numbers,
        "standardise_onehot": standardise_onehot,
        "local_statistics": not global_statistics,
        "labels_known": not labels_unknown,
        "ranges_known": ranges_known,
        "people": people,
        "batches": batches,
        "deviation": deviation,
        "reveal": reveal,
    }
    if plan is not None:
        values = with_typed(read_plan(plan), {key: value for key, value in values.items() if _given(context, key)})
    if values.get("attacks") == ("property",):
        asked = {
            "property_text": property_text,
            "classes": integers("--classes", classes),
            "losses": names(loss),
            "hierarchies": names(hierarchy),
            "observed": observed,
            "rounds": rounds,
            "reader": reader or ("paths" if observed == "weights" else "flat"),  # a federation does not shuffle neurons
            "models": models_per_class,
            "rows": rows_per_model,
            "defenses": values.get("defenses", ("none",)),
            "seed": seed,
        }
        request = prepare(values | {"attacks": ("exact",), "defenses": ("none",)})[0]
        _property(request, asked, jobs or 2, out, as_json)
        return
    if property_text is not None:
        raise InputError("--property belongs to the attack property: say --attacks property, alone.")
    whole = make_plan(values)
    sources = open_sources(whole)
    settings = whole.variants[0].settings
    what = plan.stem if plan else settings.models[0].partition(":")[0]
    folder = run_folder(out, f"{sources[0].name}-{settings.protocol}-{what}")
    if len(whole.variants) > 1:
        command = shlex.join(["seepage", *sys.argv[1:]])
    elif sources[0].notes:  # what was audited instead is what is to be repeated
        command = command_line(make_plan(values | {"data": sources[0].name, "fallback": None}))
    else:
        command = command_line(whole)
    summary = run_whole(whole, sources, folder, command, jobs, backend, scheduler, strict=plan is None)
    _finish(summary, folder, as_json)
    stop_if_broken(folder)


def _property(request: Any, asked: dict[str, Any], jobs: int, out: str, as_json: bool) -> None:
    """Property inference: other models, another store, another page."""
    from seepage.data.source import open_source
    from seepage.report import write_report
    from seepage.results.property import PropertyRun
    from seepage.studies.property.running import PropertySettings, run_property_audit

    if asked["property_text"] is None:
        raise InputError("Whose share is asked? Say it with --property, as in --property \"sex == 'Female'\".")
    settings = PropertySettings(**asked)
    source = open_source(request)
    folder = run_folder(out, f"{source.name}-property")
    run = PropertyRun.open_or_create(folder, asdict(settings) | {"data": source.name, "table": source.digest})
    command = shlex.join(["seepage", *sys.argv[1:]])
    with ProgressBars() as bars:
        summary = run_property_audit(source, settings, run, jobs=jobs, command=command, progress=bars)
    report = write_report(run.run)
    if as_json:
        typer.echo(json.dumps(summary))
        return
    print_property(summary)
    console.print(f"Report   {report}", highlight=False, soft_wrap=True, markup=False)
    console.print(f"Summary  {folder / 'summary.json'}", highlight=False, soft_wrap=True, markup=False)


_OPTIONS = {
    "models": "model",
    "defenses": "defense",
    "batch_sizes": "batch_size",
    "model_options": "model_option",
    "attack_options": "attack_option",
    "local_statistics": "global_statistics",
    "labels_known": "labels_unknown",
}


def _given(context: typer.Context, key: str) -> bool:
    """Whether the user typed the option of this setting, rather than leaving it at its default."""
    source = context.get_parameter_source(_OPTIONS.get(key, key))
    return source is not None and source.name == "COMMANDLINE"


def _finish(summary: Any, folder: Path, as_json: bool) -> None:
    if as_json:
        typer.echo(summary.to_json(), nl=False)
        return
    print_summary(summary)
    console.print(f"Report   {folder / 'report.html'}", highlight=False, soft_wrap=True, markup=False)
    console.print(f"Summary  {folder / 'summary.json'}", highlight=False, soft_wrap=True, markup=False)
