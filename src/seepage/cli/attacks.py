"""`seepage attacks`: what there is, and what each needs to know."""

from __future__ import annotations

import json

import typer

app = typer.Typer(help="The attacks: what they need to know, and where they come from.", no_args_is_help=True)


@app.callback()
def attacks() -> None:
    """The attacks: what they need to know, and where they come from."""


@app.command("list")
def list_attacks(as_json: bool = typer.Option(False, "--json", help="Print JSON.")) -> None:
    """Show every attack, what it needs, and its paper."""
    from seepage.audit import ATTACKS  # torch takes a second to load

    if as_json:
        facts = [{"name": n, "about": e.about, "needs": e.needs, "paper": e.paper} for n, e in ATTACKS.items()]
        typer.echo(json.dumps(facts, indent=2))
        return
    for name, entry in ATTACKS.items():
        typer.echo(f"{name}\n    {entry.about}\n    needs: {entry.needs}\n    paper: {entry.paper}")
