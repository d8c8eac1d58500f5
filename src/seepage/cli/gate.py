"""`seepage gate`: stop a build when something leaks more than is allowed."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seepage._core import InputError
from seepage._core.option import MAIN, Option
from seepage.cli.counting import counted
from seepage.cli.declared import Typed, make_command
from seepage.cli.running import Where, open_and_run, run_folder
from seepage.cli.tables import quiet_about_left_out
from seepage.cli.unfinished import tell_missing
from seepage.plans.options import checked

if TYPE_CHECKING:
    from seepage.results import Summary


class Gate(Where):
    """What is judged, and by which limits."""

    plan: Annotated[Path | None, Option(help="A plan to run, a TOML file.", group=MAIN)] = None
    run: Annotated[Path | None, Option(help="Or the folder of a finished run.", group=MAIN)] = None
    max_exact: Annotated[
        float | None, Option(help="Largest share of rows read exactly, every cell equal, as 0 or 0.05.", group=MAIN)
    ] = None
    max_emr: Annotated[
        float | None,
        Option(
            help="Largest share of rows read nearly, every cell right by the papers' tolerance; exact ones are among "
            "them.",
            group=MAIN,
        ),
    ] = None
    max_gain: Annotated[
        float | None, Option(help="Largest share read beyond the best guess, such as 0.05.", group=MAIN)
    ] = None
    max_presence: Annotated[
        float | None,
        Option(help="Largest share of categories told to occur or not beyond guessing (attack presence).", group=MAIN),
    ] = None
    max_counts: Annotated[
        float | None,
        Option(help="Largest share of rows counted right beyond guessing (attack counts).", group=MAIN),
    ] = None
    accept_weak: Annotated[
        bool,
        Option(
            help="Pass although the strongest applicable attack was not run whole, or trials are too few. It is said.",
            group=MAIN,
        ),
    ] = False


ABOUT = """Run a plan of any study, and exit with 1 if anything leaks more than is allowed or could not be measured.

The upper end of each interval is what counts. The strongest attack that counting finds applicable (see `seepage
attacks explain`) must have been run whole on every choice, no attack may have failed, and trials must be so many that
more leakage than is allowed would have been seen: 59 for a limit of 5 %, 299 for 1 % and for none.
"""


def _gate(context: typer.Context, typed: Typed) -> None:
    from seepage.results.gate import Limits, asked_attacks, breaches

    asked = checked(Gate, typed)
    limits = Limits(
        exact=asked.max_exact,
        emr=asked.max_emr,
        gain=asked.max_gain,
        presence=asked.max_presence,
        counts=asked.max_counts,
    )
    folder, summary = _judged(asked)
    tell_missing(summary)
    for name, choices in asked_attacks(summary).items():
        typer.echo(f"Strongest applicable attack, by counting: {name} ({counted(choices, 'choice')}).")
    found = breaches(summary, limits)
    above = [breach for breach in found if not (breach.weak and asked.accept_weak)]
    for breach in found:
        accepted = "accepted (--accept-weak): " if breach not in above else ""
        typer.echo(f"{accepted}{breach.cell}: {breach.what}.")
    for missing in summary.not_run:
        typer.echo(f"Not run: {missing.what}. {missing.reason}")
    count = len(above) + len(summary.not_run)
    weak = len(found) - len(above)
    forgiven = f", {weak} too weakly attacked and accepted (--accept-weak)" if weak else ""
    judged = len(summary.cells) + len(getattr(summary, "tallies", ()))
    settings = counted(judged, "setting")
    stopped = f"{count} above the limits, too weakly attacked or not measured{forgiven}"
    typer.echo(f"{settings} in {folder}: {stopped}.")
    if count or not judged:
        raise typer.Exit(1)


_FIRST = [name for name in Gate.model_fields if name not in Where.model_fields]
gate = make_command({name: Gate.model_fields[name] for name in (*_FIRST, *Where.model_fields)}, ABOUT, _gate)


def _judged(asked: Gate) -> tuple[Path, Summary]:
    """The run that is judged; a plan is run first."""
    from seepage.results import Run, read_summary

    if (asked.plan is None) == (asked.run is None):
        raise InputError("What is to be judged? Give a plan (--plan) or a finished run (--run).")
    idle = [f"--{name}" for name in Where.model_fields if getattr(asked, name) != Where.model_fields[name].default]
    if asked.run is not None and idle:
        raise InputError(f"A finished run is judged (--run): {' and '.join(idle)} would have no effect; leave it out.")
    if asked.run is not None:
        return asked.run, read_summary(Run.open(asked.run))
    from seepage.runs import make_plan, open_sources, read_plan  # torch takes seconds to load

    assert asked.plan is not None
    made = make_plan(read_plan(asked.plan))
    with quiet_about_left_out():
        sources = open_sources(made)
    folder = run_folder(asked.out, f"{sources[0].name}-{asked.plan.stem}")
    command = shlex.join(["seepage", *sys.argv[1:]])
    return folder, open_and_run(made, sources, folder, command, asked, strict=False)
