"""`seepage attacks explain`: which attacks can work on a set-up, before anything is run."""

from __future__ import annotations

import json
from typing import Annotated, Any, cast

import typer
from rich import box
from rich.table import Table

from seepage.cli.console import console
from seepage.cli.options import integers, names
from seepage.report.words import spec

_COLOURS = {"works": "red", "partly": "yellow", "cannot": "dim"}  # not green: it is no proof of privacy


def explain(
    data: Annotated[
        str, typer.Option(help="A data set's name, or a CSV or Parquet file. Only the sizes of its columns are used.")
    ] = "adult",
    target: Annotated[str | None, typer.Option(help="The column to predict; named data sets know theirs.")] = None,
    model: Annotated[str, typer.Option(help="As in `seepage audit`; several with commas.")] = "mlp",
    protocol: Annotated[str, typer.Option(help="fedsgd or fedavg.")] = "fedsgd",
    batch_size: Annotated[str, typer.Option(help="Rows of a mini batch; several with commas.")] = "8",
    local_epochs: Annotated[int, typer.Option(help="fedavg: passes over the rows before sending.")] = 1,
    local_rows: Annotated[int, typer.Option(help="fedavg: rows each client works on.")] = 32,
    defense: Annotated[str, typer.Option(help="As in `seepage audit`; several with commas.")] = "none",
    clients_aggregated: Annotated[
        int, typer.Option(help="Clients whose updates the server only sees added up (secure aggregation).")
    ] = 1,
    optimiser: Annotated[str, typer.Option(help="fedavg: sgd, momentum or adam, of the clients.")] = "sgd",
    weight_decay: Annotated[float, typer.Option(help="Of the clients.")] = 0.0,
    standardise_onehot: Annotated[bool, typer.Option(help="One-hot inputs are standardised too.")] = False,
    global_statistics: Annotated[bool, typer.Option(help="Clients scale with pooled statistics.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say which attacks can work on a set-up, and why others cannot.

    It counts rows, widths and steps; it trains and attacks nothing. Secure aggregation, the optimisers momentum and
    adam, and weight decay are covered by this algebra only: `seepage audit` does not simulate them.
    """
    from seepage.data.source import open_source
    from seepage.runs import prepare
    from seepage.studies.rows.explain import explain as explained  # torch takes a second to load

    fedavg: dict[str, Any] = {"local_rows": local_rows, "local_epochs": local_epochs}
    request, settings = prepare(
        {"data": data, "target": target, "protocol": protocol, "models": names(model), "defenses": names(defense)}
        | {"batch_sizes": integers("--batch-size", batch_size), "standardise_onehot": standardise_onehot}
        | {"local_statistics": not global_statistics}
        | fedavg
    )
    entries = explained(
        open_source(request),
        settings,
        clients=clients_aggregated,
        optimiser=cast(Any, optimiser),  # a wrong name is told by the set-up, with the nearest one
        weight_decay=weight_decay,
    )
    if as_json:
        typer.echo(json.dumps(entries, indent=2))
        return
    for entry in entries:
        _print(entry)


def _print(entry: dict[str, Any]) -> None:
    defended = "" if entry["defense"] == "none" else f", defence {spec(entry['defense'], bare=True)}"
    rows, steps = (f"{entry[name]:,} {name if entry[name] > 1 else name[:-1]}" for name in ("rows", "steps"))
    title = f"{spec(entry['model'])}, {entry['protocol']}, batch size {entry['batch_size']}{defended}"
    say(f"{title}: {rows} and {steps} behind what the server sees.")
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("attack", "verdict", "why"):
        table.add_column(heading, no_wrap=heading == "verdict")
    for finding in entry["findings"]:
        colour = _COLOURS[finding["verdict"]]
        table.add_row(finding["what"], f"[{colour}]{finding['verdict']}[/{colour}]", finding["why"])
    console.print(table)
    say(f"{entry['stops']}\n")


def say(text: str) -> None:
    """A line of text as it is."""
    console.print(text, highlight=False, soft_wrap=True, markup=False)
