"""`seepage models check`: what a model is to a federation, before anything is trained."""

from __future__ import annotations

import json
from typing import Annotated

import typer


def check(
    model: Annotated[str, typer.Argument(help="A name, or package.module:function of your own.")],
    data: Annotated[str, typer.Option(help="The table it is made for.")] = "adult",
    target: Annotated[str | None, typer.Option(help="Its target.")] = None,
    preprocessing: Annotated[
        str | None, typer.Option(help="A file of what all clients do to their columns.", metavar="FILE")
    ] = None,
    batch_size: Annotated[int, typer.Option(min=1, help="Rows of a batch, for what can be read.")] = 8,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say what a model takes and sends, where rows enter it, and which attacks can work on it."""
    from seepage.cli.explain import print_entry
    from seepage.runs import make_plan, open_sources  # torch takes a second to load
    from seepage.runs.bounds import check_memory
    from seepage.studies.rows.explain import explain
    from seepage.studies.rows.model_facts import model_facts

    said = {"target": target, "preprocessing": preprocessing}
    plan = make_plan({"data": data, "model": model, "batch_sizes": [batch_size]} | {k: v for k, v in said.items() if v})
    source, settings = open_sources(plan)[0], plan.variants[0].settings
    check_memory(plan, [source])
    facts = model_facts(source, settings, settings.models[0])  # type: ignore[arg-type, attr-defined]
    (entry,) = explain(source, settings)  # type: ignore[arg-type]
    if as_json:
        typer.echo(json.dumps({"model": facts, "attacks": entry.model_dump(mode="json")}, indent=2))
        return
    for heading, words in facts.items():
        typer.echo(f"{heading + ':':<16}{words}.")
    typer.echo("")
    print_entry(entry)
