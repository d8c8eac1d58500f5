"""`seepage defenses`: what there is, and what each can be told."""

from __future__ import annotations

import typer

from seepage.cli.attacks import print_catalogue

app = typer.Typer(help="The defences: what they do, their options, and where they come from.", no_args_is_help=True)


@app.callback()
def defenses() -> None:
    """The defences: what they do, their options, and where they come from."""


@app.command("list")
def list_defenses(as_json: bool = typer.Option(False, "--json", help="Print JSON.")) -> None:
    """Show every defence, its options, and its paper."""
    from seepage.plans.registry import DEFENSES, listed  # torch takes a second to load
    from seepage.studies.property.owner import listed_owners

    print_catalogue(listed(DEFENSES) + listed_owners(), as_json=as_json)
