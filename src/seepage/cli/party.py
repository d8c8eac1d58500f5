"""`seepage party`: vertical training between companies, each with a program, a file and keys of its own."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from seepage._core import InputError
from seepage.cli.console import ProgressBars

ABOUT = "Vertical training between parties on different machines: each has its own file, keys and program."
app = typer.Typer(help=ABOUT, no_args_is_help=True)
Config = Annotated[Path, typer.Option("--config", help="The party's own configuration (TOML).", show_default=False)]


@app.callback()
def group() -> None:
    if find_spec("grpc") is None or find_spec("cryptography") is None:
        raise InputError("Parties on different machines need grpcio and cryptography: pip install 'seepage[vertical]'.")
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # what goes wrong is told in a sentence of ours


group.__doc__ = ABOUT


@app.command()
def keys(
    names: Annotated[str, typer.Option(help="Names of the parties, separated by commas.", show_default=False)],
    out: Annotated[Path, typer.Option(help="Folder for the authority, and one for each party.")] = Path("keys"),
    days: Annotated[int, typer.Option(min=1, max=3650, help="Days until the certificates expire.")] = 365,
) -> None:
    """Make a small certificate authority and a certificate for each party, for tests and pilots.

    In production bring the certificates of an authority that all parties trust already: this one cannot revoke any.
    """
    from seepage.federation.network.certificates import AUTHORITY, make_keys

    for folder in make_keys([name.strip() for name in names.split(",")], out, days=days):
        typer.echo(f"{folder}: hand this folder to {folder.name}, and to nobody else.")
    typer.echo(f"{out / AUTHORITY}: makes more certificates; keep it where no party's program runs.")
    typer.echo("For a pilot. In production use certificates of an authority that all parties trust already.")


@app.command()
def guest(config: Config) -> None:
    """Answer the host's questions about this party's own columns, until Ctrl-C."""
    from seepage.federation.network.config import GuestConfig, read_config
    from seepage.federation.network.programs import as_a_program, open_door

    read = read_config(GuestConfig, config)
    as_a_program(read.threads)
    door = open_door(read, lambda told: typer.echo(told, err=True))
    try:
        typer.echo(f"{read.name} listens at {door.address} for {read.host}. Ctrl-C ends it.")
        sys.stdout.flush()
        door.wait()
    finally:
        door.close()


@app.command()
def host(config: Config) -> None:
    """Train with the guests, or go on where a kill left it; write this party's part of the model and a report."""
    from seepage.federation.network.config import HostConfig, read_config
    from seepage.federation.network.programs import as_a_program, open_host
    from seepage.runs.apart import write_report_of

    read = read_config(HostConfig, config)
    as_a_program(read.threads)
    with open_host(read) as (party, _), ProgressBars() as progress:
        model = party.train(progress)
        told = write_report_of(read, party, model, config)
    for line in told:
        typer.echo(line)


@app.command()
def predict(
    config: Config,
    data: Annotated[Path, typer.Option(help="The host's file of new people.", show_default=False)],
    out: Annotated[Path, typer.Option(help="Predictions (CSV), with the host's row numbers.")] = Path(
        "predictions.csv"
    ),
) -> None:
    """Predict new people with the guests (each has its own file of them, `new` in its configuration)."""
    import polars as pl

    from seepage._core.files import write_new
    from seepage.federation.network.config import HostConfig, read_config
    from seepage.federation.network.programs import as_a_program, host_rows, open_host

    read = read_config(HostConfig, config)
    as_a_program(read.threads)
    if out.exists():
        raise InputError(f"{out} exists already; choose another name or remove it.")
    with open_host(read) as (party, rows):
        found, shares = party.predict(host_rows(read, data, labelled=False))
    likeliest = [rows.classes[place] for place in shares.argmax(1)]
    columns = {f"probability of {name}": shares[:, place] for place, name in enumerate(rows.classes)}
    frame = pl.DataFrame({"row": found + 1, read.target: likeliest, **columns}).sort("row")
    write_new(out, frame.write_csv())
    typer.echo(f"{out}: {frame.height:,} people that all parties know.")


@app.command()
def log(
    folder: Annotated[Path, typer.Argument(help="The log folder of a party.", show_default=False)],
    certificate: Annotated[
        Path | None, typer.Option(help="The party's certificate (PEM); without it only the chain is checked.")
    ] = None,
) -> None:
    """Check a log of messages: that no line was changed, and who vouches for it; and count what left the house."""
    from seepage.federation.network.message_log import check_log

    found = check_log(folder, certificate.read_bytes() if certificate is not None else None)
    typer.echo(f"{folder}: {found.lines:,} lines of {found.party}, none changed; {found.signed:,} are signed.")
    if certificate is None:
        typer.echo("The signatures were not checked: give --certificate.")
    for name in found.torn:
        typer.echo(f"{name} ends in the middle of a line: the program was killed there.")
    for (way, party, kind), size in sorted(found.bytes.items()):
        if size:
            typer.echo(f"  {way} {'to' if way == 'sent' else 'from'} {party}: {kind}, {size:,} bytes")
