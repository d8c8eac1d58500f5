"""The command line: `seepage COMMAND`. One file per command; the options of studies come from their settings."""

from __future__ import annotations

import signal
import sys
import warnings
from contextlib import suppress

import typer

from seepage import __version__
from seepage._core import InputError
from seepage._core.tracebacks import without_messages
from seepage.cli import advise, capture, compare, data, dp, env, gate, model, party, plan, report, serve
from seepage.cli.explain import explain
from seepage.cli.grouped import GroupedCommand, GroupedGroup, OrderedGroup
from seepage.cli.parts import parts_app
from seepage.cli.reproduce import reproduce
from seepage.cli.study import study_command
from seepage.cli.usage import UsageError, told

app = typer.Typer(
    name="seepage",
    cls=OrderedGroup,
    help="How much of your private table can another party read back from federated learning?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

AUDIT = (
    "Train a federation on a table, attack what the server sees, and report how much of the rows it reads back.\n\n"
    "Other studies have commands of their own: `seepage audit property` (what share of the rows has a property), "
    "`seepage audit vertical` (rows read from gradients of aligned batches), `seepage audit parties` (what parties "
    "with different columns read of each other), `seepage audit updates` (updates that a real federation sent), "
    "`seepage audit cohorts` (sums over cohorts of clients) and `seepage audit servers` (a server that sends weights "
    "of its own making)."
)
PROPERTY = "Find out how finely the share of rows with a property can be read from a model, an update or a gradient."
VERTICAL = "Let a server watch the gradients of batches of aligned people, and report whose rows it reads back."
PARTIES = (
    "Train over several parties' columns, record every message, and report what the parties read of each other.\n\n"
    "The host reads columns, guests read labels; each attack stands beside what the attacker has without a message."
)
COHORTS = (
    "Add up clients' updates over cohorts, as secure aggregation does, and report what the sums give away.\n\n"
    "Rows and whose they are, categories, a client that was absent once; and the smallest cohort that hides, predicted "
    "and measured."
)
SERVERS = (
    "Let a server send weights of its own making, and report how many rows it reads back and what clients could notice."
    "\n\nOne round or several, FedSGD or FedAvg; attacks that do not fit a model say why."
)
UPDATES = (
    "Attack updates that a real federation sent (a capture, see `seepage capture make`), without knowing the rows.\n\n"
    "With --truth, for a client that audits itself, what is read is compared with the rows."
)
TRAIN = (
    "Train one model over several parties' columns (TabVFL and its baselines), judge it, and report.\n\n"
    "A single training saves its model in OUT/model, one folder for each party."
)

audit = typer.Typer(cls=GroupedGroup, invoke_without_command=True, rich_markup_mode=None)
audit.callback(cls=GroupedGroup, invoke_without_command=True)(study_command("rows", AUDIT))
audit.command("property", cls=GroupedCommand)(study_command("property", PROPERTY))
audit.command("vertical", cls=GroupedCommand)(study_command("vertical", VERTICAL))
audit.command("parties", cls=GroupedCommand)(study_command("parties", PARTIES))
audit.command("cohorts", cls=GroupedCommand)(study_command("cohorts", COHORTS))
audit.command("servers", cls=GroupedCommand)(study_command("servers", SERVERS))
audit.command("updates", cls=GroupedCommand)(study_command("updates", UPDATES))
app.add_typer(audit, name="audit")
app.command("train", cls=GroupedCommand)(study_command("training", TRAIN))
app.add_typer(party.app, name="party")
app.add_typer(plan.app, name="plan")
app.command("gate", cls=GroupedCommand)(gate.gate)
app.command("advise", cls=GroupedCommand)(advise.advise)
app.add_typer(dp.app, name="dp")
app.command("report")(report.report)
app.command("compare")(compare.compare)
app.command("export")(compare.export)
app.command("serve")(serve.serve)
app.add_typer(capture.app, name="capture")
app.command("reproduce", cls=GroupedCommand)(reproduce)
app.add_typer(data.app, name="data")
attacks = parts_app("attack")
attacks.command("explain", cls=GroupedCommand)(explain)
app.add_typer(attacks, name="attacks")
models = parts_app("model")
models.command("check")(model.check)
app.add_typer(models, name="models")
for kind, name in {
    "defence": "defenses",
    "optimiser": "optimisers",
    "server": "servers",
    "reader": "readers",
    "loss": "losses",
}.items():
    app.add_typer(parts_app(kind), name=name)
app.add_typer(parts_app("design"), name="designs")
app.command("env")(env.env)


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
    """Run the command line: bad input is one line and exit code 2, a signal 128 and its number, a bug a traceback."""
    warnings.showwarning = _warn
    sys.excepthook = _bug
    for each in (signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)):
        if signal.getsignal(each) is signal.SIG_DFL:  # nohup asks to leave it alone
            signal.signal(each, _interrupt)
    try:
        code = app(prog_name="seepage", standalone_mode=False)
    except UsageError as error:
        if type(error).__name__ == "NoArgsIsHelpError":  # its text is the help
            error.show()  # type: ignore[attr-defined]
            sys.exit(2)
        code = _stopped(told(error))
    except InputError as error:
        code = _stopped(error)
    except KeyboardInterrupt:
        code = 130
    if code == 130:
        code = 128 + (_received or [signal.SIGINT])[-1]
        with suppress(OSError):  # the terminal may be gone
            typer.echo("stopped", err=True)
    sys.exit(code if isinstance(code, int) else 0)


def _bug(kind: type[BaseException], error: BaseException, frames: object) -> None:
    """A mistake of ours keeps its traceback. People pass that on, so messages that may quote a cell are not in it."""
    typer.echo(without_messages(error), err=True, nl=False)


_received: list[int] = []  # signals that ended this process


def _interrupt(number: int, frame: object) -> None:
    """Being told to end is as Ctrl-C: what is unfinished is put away, and how to go on is told."""
    _received.append(number)
    raise KeyboardInterrupt


def _stopped(error: InputError) -> int:
    typer.echo(f"error: {error}", err=True)
    return 2


def _warn(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
    typer.echo(f"warning: {message}", err=True)


if __name__ == "__main__":
    main()
