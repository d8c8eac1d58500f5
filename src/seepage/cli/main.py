"""The command line: `seepage COMMAND`. One file per command."""

from __future__ import annotations

import sys
import warnings

import typer

from seepage import __version__
from seepage._core import InputError
from seepage.cli import attacks, audit, compare, data, defenses, env, gate, plan, report, reproduce, serve, vertical

app = typer.Typer(
    name="seepage",
    help="How much of your private table can another party read back from federated learning?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("audit")(audit.audit)
app.command("report")(report.report)
app.command("reproduce")(reproduce.reproduce)
app.command("gate")(gate.gate)
app.command("compare")(compare.compare)
app.command("export")(compare.export)
app.command("serve")(serve.serve)
app.command("env")(env.env)
app.add_typer(plan.app, name="plan")
app.add_typer(data.app, name="data")
app.add_typer(attacks.app, name="attacks")
app.add_typer(defenses.app, name="defenses")
app.add_typer(vertical.app, name="vertical")


def _version(value: bool) -> None:
    if value:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def options(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Show the version."),
) -> None:
    """How much of your private table can another party read back from federated learning?"""


def main() -> None:
    """Run the command line: bad input is one line and exit code 2, an interrupt is 130, a bug keeps its traceback."""
    warnings.showwarning = _warn
    try:
        app()
    except InputError as error:
        typer.echo(f"error: {error}", err=True)
        sys.exit(2)
    except KeyboardInterrupt:
        typer.echo("stopped", err=True)
        sys.exit(130)


def _warn(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
    typer.echo(f"warning: {message}", err=True)


if __name__ == "__main__":
    main()
