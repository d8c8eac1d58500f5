"""`seepage attacks`, `seepage defenses` and their siblings: what there is, and what each can be told."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from seepage._core import unknown_name
from seepage.studies import SETTINGS

ABOUT = {
    "attack": "Attacks: what they work on, what they need to know, and where they come from.",
    "defence": "Defences: what they do, what they work on, and where they come from.",
    "model": "Models: what they are made of.",
    "optimiser": "Optimisers: how clients turn slopes into local steps.",
    "server": "Servers: what is done with the mean of a round.",
    "reader": "Readers: what a meta-model sees of a model (study property).",
    "loss": "Losses of meta-models (study property).",
    "design": "Designs: which part of TabNet is where (study training).",
}


def parts_app(kind: str) -> typer.Typer:
    """The commands of one kind of parts."""
    app = typer.Typer(help=ABOUT[kind], no_args_is_help=True)

    @app.callback()
    def group() -> None: ...

    group.__doc__ = ABOUT[kind]

    @app.command("list", help=f"Show every {kind}: what it works on, its options, and where it comes from.")
    def list_parts(
        study: Annotated[str | None, typer.Option("--study", help="Only those that work in this study.")] = None,
        as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    ) -> None:
        from seepage.plans.registry import broken_parts, listed  # torch takes a second to load

        if study is not None and study not in SETTINGS:
            raise unknown_name("study", study, SETTINGS)
        facts = listed(kind, study)
        if as_json:
            typer.echo(json.dumps(facts, indent=2))
            return
        for fact in facts:
            options = " ".join(f"{name}={_shown(value)}" for name, value in fact["options"].items())
            lines = {"works on": ", ".join(fact["works_on"]), "options": options, "needs": fact["needs"]}
            lines |= {"from": fact["paper"], "package": fact["origin"]}
            typer.echo(f"{fact['name']}\n    {fact['about']}")
            for heading, text in lines.items():
                if text:
                    typer.echo(f"    {heading}: {text}")
        for name, reason in broken_parts(kind).items():
            typer.echo(f"{name}\n    cannot be loaded: {reason}")

    return app


def _shown(value: object) -> str:
    """A default as one would type it."""
    return f"{value:g}" if isinstance(value, float) else str(value)
