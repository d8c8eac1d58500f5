"""`seepage attacks`: what there is, and what each needs to know."""

from __future__ import annotations

import json
from typing import Any

import typer

from seepage.cli.explain import explain

app = typer.Typer(help="The attacks: what they need to know, and where they come from.", no_args_is_help=True)
app.command("explain")(explain)


@app.callback()
def attacks() -> None:
    """The attacks: what they need to know, and where they come from."""


@app.command("list")
def list_attacks(as_json: bool = typer.Option(False, "--json", help="Print JSON.")) -> None:
    """Show every attack, its options, what it needs, and its paper."""
    from seepage.plans.registry import ATTACKS, listed  # torch takes a second to load

    print_catalogue(listed(ATTACKS), as_json=as_json)


def print_catalogue(facts: list[dict[str, Any]], *, as_json: bool) -> None:
    """Everything of one kind that can be named: what it is, its options, what it needs, its paper."""
    if as_json:
        typer.echo(json.dumps(facts, indent=2))
        return
    for fact in facts:
        options = " ".join(f"{name}={written(value)}" for name, value in fact["options"].items())
        typer.echo(f"{fact['name']}\n    {fact['about']}")
        for heading, text in (("options", options), ("needs", fact["needs"]), ("paper", fact["paper"])):
            if text:
                typer.echo(f"    {heading}: {text}")


def written(value: Any) -> str:
    """A default as one would type it."""
    return f"{value:g}" if isinstance(value, float) else str(value)
