"""The command of a study, made from its settings: every option is declared there, and only there."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from pydantic import Field

from seepage._core import InputError
from seepage._core.option import MAIN, RUNNING, Option
from seepage.cli.declared import Typed, is_typed, make_command, split
from seepage.cli.following import follow_capture
from seepage.cli.running import Where, ask, finish, open_and_run, processes, run_folder
from seepage.cli.tables import quiet_about_left_out
from seepage.data.request import Request, check_there
from seepage.plans.options import checked
from seepage.studies import SETTINGS

if TYPE_CHECKING:
    from seepage.runs import Plan
    from seepage.studies.study import Opened


MINUTES = 5.0  # that an audit of rows may take, if nothing else is said
FITTED = ("batch_sizes", "exposure", "trials", "attacks")  # what is chosen so that it does


class RunOptions(Where):
    """Options of a run that are no settings: they change no number."""

    plan: Annotated[
        Path | None, Option(help="A TOML file with settings; options typed beside it take precedence.", group=MAIN)
    ] = None
    as_json: Annotated[
        bool, Option(help="Print summary.json on stdout, nothing else.", group=RUNNING, flag="--json")
    ] = False


class RowsRunOptions(RunOptions):
    """How long an audit of rows may take: what is not given is chosen so that it ends in time."""

    minutes: Annotated[
        float | None,
        Field(gt=0),
        Option(
            help="About how long it may take; 5 if not given. Batches, passes, trials and attacks are fitted.",
            group=RUNNING,
        ),
    ] = None
    thorough: Annotated[
        bool, Option(help="Everything as it is by default, however long that takes; nothing is fitted.", group=RUNNING)
    ] = False


class UpdatesRunOptions(RunOptions):
    """How long a capture that grows is followed."""

    follow: Annotated[
        bool,
        Option(
            help="Attack updates as they come, while the capture grows; Ctrl-C ends it. `seepage serve` shows it live.",
            group=RUNNING,
        ),
    ] = False
    follow_quiet: Annotated[
        float | None,
        Field(gt=0),
        Option(help="With --follow: minutes without a new update after which it ends; 10 if not given.", group=RUNNING),
    ] = None
    follow_rounds: Annotated[
        int | None, Field(ge=1), Option(help="With --follow: it ends after so many rounds.", group=RUNNING)
    ] = None


RUN_OPTIONS: dict[str, type[RunOptions]] = {"rows": RowsRunOptions, "updates": UpdatesRunOptions}


def study_command(study: str, about: str) -> Callable[..., None]:
    """The command of a study, with its options, those about the table and those of the run."""

    def run(context: typer.Context, typed: Typed) -> None:
        if context.invoked_subcommand is not None:
            _check_no_options(context)
            return
        how, settings = split(typed, options)
        run_study(study, settings, checked(options, how))

    options = RUN_OPTIONS.get(study, RunOptions)
    return make_command({**Request.model_fields, **SETTINGS[study].model_fields, **options.model_fields}, about, run)


def _check_no_options(context: typer.Context) -> None:
    """Options before the name of another study would be lost."""
    for parameter in context.command.params:
        if parameter.name and is_typed(context, parameter.name):
            raise InputError(
                f"Options come after the study: seepage audit {context.invoked_subcommand} {parameter.opts[0]} ..."
            )


def run_study(study: str, typed: Typed, how: RunOptions) -> None:
    """Run what was typed, or a plan with what was typed beside it, and show what came out."""
    _check_at_once(study, typed, how)
    if isinstance(how, UpdatesRunOptions) and follows(typed, how):
        return follow_capture(typed, how, how.follow_quiet, how.follow_rounds)
    from seepage.cli.console import ProgressBars
    from seepage.runs import make_plan, open_sources, read_plan, with_typed  # torch takes seconds
    from seepage.runs.bounds import counted, is_begun, too_much
    from seepage.runs.probe import check_some_possible

    values: Typed = {"study": study, **typed}
    if how.plan is not None:
        read = read_plan(how.plan)
        if read["study"] != study and study != "rows":
            raise InputError(
                f"The plan {how.plan} is of the study {read['study']}; this command is of the study {study}."
            )
        values = with_typed(read, typed)
    made = make_plan(values)
    with quiet_about_left_out():
        sources = open_sources(made)
    folder = run_folder(how.out, f"{sources[0].name}-{how.plan.stem if how.plan else made.study.name}")
    expected = None
    if isinstance(how, RowsRunOptions):
        made, values, expected = _planned(made, values, typed, sources[0], how, folder)
    if how.plan is not None:
        check_some_possible(made, sources)
    if expected is None and not is_begun(folder):
        jobs = processes(made, how) or 1
        with ProgressBars() as bars:  # what is accepted anyway is counted, and not tried first
            sentence = counted(made, sources, jobs).sentence() if how.yes else too_much(made, sources, jobs, bars)
        ask(sentence, how)
    command = _command(made, values, sources[0])
    summary = open_and_run(made, sources, folder, command, how, strict=how.plan is None, expected=expected)
    finish(summary, folder, how.as_json)


def follows(typed: Typed, how: UpdatesRunOptions) -> bool:
    """Whether a capture is to be followed; options that would have no effect are mistakes."""
    if not how.follow:
        for name in ("follow_quiet", "follow_rounds"):
            if getattr(how, name) is not None:
                raise InputError(f"--{name.replace('_', '-')} would have no effect without --follow.")
        return False
    if how.plan is not None:
        raise InputError(
            "A plan says all of what is run, so it cannot follow what comes; leave --plan or --follow out."
        )
    if "rounds" in typed:
        raise InputError("--follow attacks rounds as they come; leave --rounds out (--follow-rounds says how many).")
    if how.jobs not in (None, 1) or how.backend is not None or how.scheduler is not None:
        raise InputError("A capture is followed by one process; leave --jobs, --backend and --scheduler out.")
    return True


def _planned(
    plan: Plan, values: Typed, typed: Typed, source: Opened, how: RowsRunOptions, folder: Path
) -> tuple[Plan, Typed, float | None]:
    """The plan with what was left open chosen so that it ends in time, and the seconds that are expected."""
    from seepage.cli.console import ProgressBars, tell
    from seepage.results import Run
    from seepage.results.folder import is_run
    from seepage.runs import make_plan
    from seepage.runs.bounds import HOUR, TRIAL, counted
    from seepage.runs.threads import own_threads
    from seepage.studies.rows.fitting import fitted

    if how.thorough and how.minutes is not None:
        raise InputError("With --thorough nothing is fitted, so --minutes would have no effect; leave one of them out.")
    if how.plan is not None and (how.thorough or how.minutes is not None):
        raise InputError(
            "A plan says all of what is run: --thorough and --minutes would have no effect; leave them out."
        )
    if how.plan is not None or how.thorough or all(name in typed for name in FITTED):
        return plan, values, None
    if is_run(folder):  # what was chosen when the run was begun
        stored = Run(folder).head().get("settings")
        found = stored if isinstance(stored, dict) else {}
        values = values | {name: found[name] for name in FITTED if name not in typed and found.get(name) is not None}
        return make_plan(values), values, None
    minutes = how.minutes or MINUTES
    bill = counted(plan, [source])
    if bill.piece > TRIAL or replace(bill, seconds=0.0).sentence():  # to try it would be too much, so nothing is fitted
        return plan, values, None
    with ProgressBars() as bars, own_threads():
        chosen = fitted(source, plan.variants[0].settings, set(typed), 60 * minutes, progress=bars)  # type: ignore[arg-type]
    for line in chosen.lines:
        tell(line)
    ask(replace(bill, seconds=chosen.seconds, memory=0.0).sentence(max(HOUR, 60 * minutes)), how)
    found = chosen.settings.model_dump(include=set(FITTED))
    values = values | {name: value for name, value in found.items() if name not in typed and value is not None}
    return make_plan(values), values, chosen.seconds


def _check_at_once(study: str, typed: Typed, how: RunOptions) -> None:
    """Tell what can be told before torch is loaded (which takes seconds): absent files, wrong values of settings."""
    for name in ("data", "schema_file", "path", "preprocessing"):
        check_there(typed.get(name))
    if how.plan is None:
        checked(SETTINGS[study], {name: typed[name] for name in SETTINGS[study].model_fields if name in typed})
    if isinstance(typed.get("data"), str) and "torch" not in sys.modules:  # where it is loaded, nobody waits
        typer.echo(f"Reading {typed['data']} ...", err=True)


def _command(plan: Plan, values: Typed, source: Opened) -> str:
    """The command that repeats this: what was audited instead of a table that could not be fetched is repeated."""
    from seepage.runs import command_line, make_plan

    if len(plan.variants) > 1:
        return shlex.join(["seepage", *sys.argv[1:]])
    if plan.variants[0].request.fallback and source.notes:
        return command_line(make_plan(values | {"data": source.name, "fallback": None}))
    return command_line(plan)
