"""`seepage attacks explain`: which attacks can work on a set-up, before anything is run."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

if TYPE_CHECKING:
    from seepage.results.rows import Applicability

_COLOURS = {"works": "red", "partly": "yellow", "cannot": "dim"}  # not green: it is no proof of privacy


def explain(
    data: Annotated[
        str, typer.Option(help="A data set's name, or a CSV or Parquet file. Only the sizes of its columns are used.")
    ] = "adult",
    target: Annotated[str | None, typer.Option(help="The column to predict; named data sets know theirs.")] = None,
    model: Annotated[str, typer.Option(help="As in `seepage audit`; several, separated by commas.")] = "mlp",
    protocol: Annotated[str, typer.Option(help="fedsgd or fedavg.")] = "fedsgd",
    batch_size: Annotated[str, typer.Option(help="Rows of a mini batch; several, separated by commas.")] = "8",
    local_epochs: Annotated[int | None, typer.Option(help="fedavg: passes over the rows before sending.")] = None,
    local_rows: Annotated[int | None, typer.Option(help="fedavg: rows each client works on.")] = None,
    defense: Annotated[str, typer.Option(help="As in `seepage audit`; several, separated by commas.")] = "none",
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
    from seepage.runs import make_plan, open_sources  # torch takes a second to load
    from seepage.studies.rows.explain import explain as explained

    fedavg = {"local_rows": local_rows, "local_epochs": local_epochs}
    plan = make_plan(
        {
            "data": data,
            "target": target,
            "protocol": protocol,
            "models": model.split(","),
            "defenses": defense.split(","),
        }
        | {"batch_sizes": batch_size.split(","), "standardise_onehot": standardise_onehot}
        | {"local_statistics": not global_statistics}
        | {name: value for name, value in fedavg.items() if value is not None}
    )
    entries = explained(
        cast(Any, open_sources(plan)[0]),
        cast(Any, plan.variants[0].settings),
        clients=clients_aggregated,
        optimiser=cast(Any, optimiser),  # a wrong name is told by the set-up, with the nearest one
        weight_decay=weight_decay,
    )
    if as_json:
        typer.echo(json.dumps([entry.model_dump(mode="json") for entry in entries], indent=2))
        return
    for entry in entries:
        _print(entry)


def _print(entry: Applicability) -> None:
    from rich import box
    from rich.table import Table

    from seepage.cli.console import console
    from seepage.report.words import spec

    def say(text: str) -> None:
        console.print(text, highlight=False, soft_wrap=True, markup=False)

    defended = "" if entry.defense == "none" else f", defence {spec(entry.defense, bare=True)}"
    behind = [
        f"{count:,} {word if count > 1 else word[:-1]}"
        for count, word in ((entry.rows, "rows"), (entry.steps, "steps"))
    ]
    title = f"{spec(entry.model)}, {entry.protocol}, batch size {entry.batch_size}{defended}"
    say(f"{title}: {behind[0]} and {behind[1]} behind what the server sees.")
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("attack", "verdict", "why"):
        table.add_column(heading, no_wrap=heading == "verdict")
    for finding in entry.findings:
        colour = _COLOURS[finding.verdict]
        table.add_row(finding.what, f"[{colour}]{finding.verdict}[/{colour}]", finding.why)
    console.print(table)
    say(f"{entry.stops}\n")
