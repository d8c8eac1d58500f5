"""`seepage attacks explain`: which attacks can work on a set-up, before anything is run."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer
from pydantic import BaseModel, ConfigDict

from seepage._core.option import MAIN, Option
from seepage.cli.counting import counted
from seepage.cli.declared import Typed, make_command, split
from seepage.data.request import Request
from seepage.plans.options import checked
from seepage.studies.rows.settings import RowsSettings

if TYPE_CHECKING:
    from seepage.results.rows import Applicability

_COLOURS = {"works": "red", "partly": "yellow", "cannot": "dim"}  # not green: it is no proof of privacy
_TABLE = ("data", "target", "preprocessing")
_COUNTED = (
    "scenario", "protocol", "models", "defenses", "batch_sizes", "clients", "local_rows", "local_epochs", "optimiser",
    "clip_norm", "batch_norm", "standardise_onehot", "local_statistics", "rounds",
)  # fmt: skip


class Beyond(BaseModel):
    """What only this algebra covers: no audit simulates it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    clients_aggregated: Annotated[
        int,
        Option(help="Clients whose updates the server only sees added up (secure aggregation).", group=MAIN),
    ] = 1
    as_json: Annotated[bool, Option(help="Print JSON.", group=MAIN, flag="--json")] = False


ABOUT = """Say which attacks can work on a set-up, and why others cannot.

It counts rows, widths, steps and rounds; it trains and attacks nothing. `seepage audit cohorts` simulates secure
aggregation.
"""


def _explain(context: typer.Context, typed: Typed) -> None:
    from seepage.runs import make_plan, open_sources  # torch takes a second to load
    from seepage.studies.rows.explain import explain as explained

    own, settings = split(typed, Beyond)
    beyond = checked(Beyond, own)
    plan = make_plan({"data": "adult"} | settings)
    entries = explained(
        open_sources(plan)[0],  # type: ignore[arg-type]  # a plan of rows opens one table
        plan.variants[0].settings,  # type: ignore[arg-type]
        clients=beyond.clients_aggregated,
    )
    if beyond.as_json:
        typer.echo(json.dumps([entry.model_dump(mode="json") for entry in entries], indent=2))
        return
    for entry in entries:
        print_entry(entry)


explain = make_command(
    {name: Request.model_fields[name] for name in _TABLE}
    | {name: RowsSettings.model_fields[name] for name in _COUNTED}
    | Beyond.model_fields,
    ABOUT,
    _explain,
)


def print_entry(entry: Applicability) -> None:
    """A set-up: what each attack can do with it, and what stops the strongest."""
    from rich import box
    from rich.table import Table

    from seepage.cli.console import console
    from seepage.report.words import spec

    def say(text: str) -> None:
        console.print(text, highlight=False, soft_wrap=True, markup=False)

    defended = "" if entry.defense == "none" else f", defence {spec(entry.defense, bare=True)}"
    title = f"{spec(entry.model)}, {entry.protocol}, batch size {entry.batch_size}{defended}"
    say(f"{title}: {counted(entry.rows, 'row')} and {counted(entry.steps, 'step')} behind what the server sees.")
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("attack", "verdict", "why"):
        table.add_column(heading, no_wrap=heading == "verdict")
    for finding in entry.findings:
        colour = _COLOURS[finding.verdict]
        table.add_row(finding.what, f"[{colour}]{finding.verdict}[/{colour}]", finding.why)
    console.print(table)
    say(f"{entry.stops}\n")
