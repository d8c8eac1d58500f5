"""`seepage capture`: updates of a real federation as files, from what its training loop saved."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from pydantic import BaseModel, ConfigDict, Field

from seepage._core import InputError
from seepage._core.option import MAIN, Option
from seepage._core.paths import user_path
from seepage.captures.clients import pseudonym, read_salt
from seepage.captures.facts import CaptureFacts
from seepage.cli.counting import counted
from seepage.cli.declared import Typed, make_command, split
from seepage.cli.grouped import GroupedCommand
from seepage.plans.options import checked

if TYPE_CHECKING:
    from seepage.captures import Capture, Entry

ABOUT = "Captures: updates of a real federation as files without code, to be attacked by `seepage audit updates`."
MAKE = (
    "Write one update of one client into a capture: the weights that it was sent and what it sent back.\n\n"
    "Files are state dicts in safetensors or npz. A pickle (.pt, .pth) is never opened; convert it first."
)
app = typer.Typer(help=ABOUT, no_args_is_help=True)


@app.callback()
def group() -> None: ...


group.__doc__ = ABOUT


class MakeOptions(BaseModel):
    """Where an update is, whose it is, and where it goes; the facts of the protocol stand beside it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    before: Annotated[Path | None, Option(help="The weights that the client was sent.", group=MAIN)] = None
    after: Annotated[Path | None, Option(help="The weights that it sent back.", group=MAIN)] = None
    gradient: Annotated[Path | None, Option(help="In place of --after: the gradient of one batch.", group=MAIN)] = None
    change: Annotated[
        Path | None, Option(help="In place of --after: the weights sent back minus those before.", group=MAIN)
    ] = None
    out: Annotated[Path | None, Option(help="Folder of the capture.", group=MAIN)] = None
    add: Annotated[
        bool, Option(help="Add to a capture that is there; no update in it is ever replaced.", group=MAIN)
    ] = False
    client: Annotated[
        str | None,
        Option(help="The client's name, which is hashed with a salt that is not kept, or such a hash.", group=MAIN),
    ] = None
    round: Annotated[int, Field(ge=0), Option(help="The number of the round.", group=MAIN)] = 1
    salt_file: Annotated[
        Path | None,
        Option(help="A file with a salt of yours, so that a client has the same hash in every call.", group=MAIN),
    ] = None


def _make(context: typer.Context, typed: Typed) -> None:
    own, facts = split(typed, MakeOptions)
    options = checked(MakeOptions, own)
    known = checked(CaptureFacts, facts).model_dump(include=set(facts)) if "rows" in facts else facts
    if options.before is None or options.out is None:
        raise InputError("seepage capture make needs --before FILE, --after, --gradient or --change, and --out FOLDER.")
    salt = read_salt(user_path(options.salt_file)) if options.salt_file is not None else None
    client = pseudonym(options.client, salt) if options.client is not None else None
    from seepage.captures import write

    capture = write(
        options.out,
        before=options.before,
        after=options.after,
        gradient=options.gradient,
        change=options.change,
        client=client,
        round=options.round,
        add=options.add,
        **known,
    )
    entry = next(
        each for each in reversed(capture.entries) if each.round == options.round and client in (None, each.client)
    )
    typer.echo(f"{options.out}: round {entry.round} of {entry.client}, {_said(entry)}.")
    if options.client is not None and options.client != entry.client and options.salt_file is None:
        typer.echo(f"To add more of this client, name it --client {entry.client}: the salt of the hash is not kept.")
    _tell_missing(capture.entries)


app.command("make", cls=GroupedCommand)(
    make_command({**MakeOptions.model_fields, **CaptureFacts.model_fields}, MAKE, _make)
)


@app.command()
def show(
    folder: Annotated[Path, typer.Argument(help="Folder of the capture.", show_default=False)],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say what a capture holds, whether it is whole, and what is missing for which attacks."""
    from seepage.captures import read

    capture = read(folder)
    sizes = [_size(entry) for entry in capture.entries]
    if as_json:
        typer.echo(json.dumps(_facts(capture, sizes), indent=2))
        return
    clients = counted(len(capture.clients), "client")
    rounds = counted(len({entry.round for entry in capture.entries}), "round")
    typer.echo(f"{folder}: {counted(len(capture.entries), 'update')} of {clients} in {rounds}, all files whole.")
    for entry, (tensors, weights) in zip(capture.entries, sizes, strict=True):
        size = f"{weights:,} weights in {counted(tensors, 'tensor')}"
        typer.echo(f"  round {entry.round}, {entry.client}: {_said(entry)}; {size}")
    _tell_missing(capture.entries)
    several = [client for client in capture.clients if len(capture.of_client(client)) > 1]
    if several:
        typer.echo(f"{counted(len(several), 'client')} with several rounds: one case each, attacked round by round.")


def _size(entry: Entry) -> tuple[int, int]:
    """Tensors and weights of an update, read whole: a damaged file is told here."""
    from seepage.captures.reading import same_shapes

    before, sent = entry.before(), entry.sent()
    same_shapes(before, sent, entry.kind)
    return len(before), sum(value.size for value in before.values())


def _said(entry: Entry) -> str:
    """What was sent and how it came about, in words."""
    from seepage.captures.reading import SAID

    facts = entry.facts
    parts = [f"{SAID[entry.kind]} of {counted(facts.rows, 'row')} ({entry.protocol})"]
    if entry.kind != "gradient":
        parts.append(f"batches of {facts.batch_size}" if facts.batch_size else "batch size not known")
        parts.append(counted(facts.local_epochs, "local epoch"))
        rate = f"at a rate of {facts.learning_rate:g}" if facts.learning_rate else "at a rate that is not known"
        parts.append(f"{facts.optimiser}{'' if facts.plain_steps else ' (with options)'} {rate}")
    return ", ".join(parts)


_FLAGS = {"batch_size": "--batch-size", "learning_rate": "--learning-rate"}


def _tell_missing(entries: Sequence[Entry]) -> None:
    """Facts that are not known, and what that costs."""
    from seepage.captures.reading import points_back

    missing = dict.fromkeys(name for entry in entries for name in entry.facts.missing(entry.kind))
    if missing:
        flags = " and ".join(_FLAGS[name] for name in missing)
        typer.echo(f"Missing: {flags}. Without that no attack can replay the local training, so none is run.")
    else:
        typer.echo("Nothing is missing: every attack on updates can be tried (seepage audit updates).")
    for number in points_back(tuple(entries)):
        typer.echo(f"warning: in round {number}, before and after look swapped: all clients end with the same weights.")


def _facts(capture: Capture, sizes: Sequence[tuple[int, int]]) -> dict[str, object]:
    return {
        "clients": list(capture.clients),
        "entries": [
            {
                "round": entry.round,
                "client": entry.client,
                "kind": entry.kind,
                "protocol": entry.protocol,
                "tensors": tensors,
                "weights": weights,
                "facts": entry.facts.model_dump(),
                "missing": entry.facts.missing(entry.kind),
            }
            for entry, (tensors, weights) in zip(capture.entries, sizes, strict=True)
        ],
    }
