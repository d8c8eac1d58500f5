"""The command of a study, made from its settings: every option is declared there, and only there."""

from __future__ import annotations

import inspect
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from pydantic.fields import FieldInfo

from seepage._core import InputError
from seepage._core.option import MAIN
from seepage.cli.running import finish, open_and_run, run_folder
from seepage.data.request import Request
from seepage.plans.options import flag_of, holds_several, option_of, plain_type
from seepage.studies import SETTINGS

if TYPE_CHECKING:
    from seepage.runs import Plan

RUNNING = "Running"


def _run_options() -> dict[str, tuple[Any, Any]]:
    """Options that are no settings: they change no number."""
    return {
        "plan": (
            Annotated[
                Path | None,
                typer.Option(
                    "--plan",
                    metavar="FILE",
                    help="A TOML file with settings; options typed beside it take precedence.",
                    rich_help_panel=MAIN,
                ),
            ],
            None,
        ),
        "out": (
            Annotated[
                str,
                typer.Option(
                    "--out",
                    metavar="FOLDER",
                    help="Folder for the run; auto names one below runs/. A run that is there is continued.",
                    rich_help_panel=MAIN,
                ),
            ],
            "auto",
        ),
        "jobs": (
            Annotated[
                int | None,
                typer.Option(
                    "--jobs",
                    metavar="NUMBER",
                    help="Processes; one for a single table, as many as cores for a plan with a grid.",
                    rich_help_panel=RUNNING,
                ),
            ],
            None,
        ),
        "backend": (
            Annotated[
                str | None,
                typer.Option(
                    "--backend",
                    metavar="TEXT",
                    help="Where tasks run: local (processes) or dask (a cluster; on this machine if no address is "
                    "given).",
                    rich_help_panel=RUNNING,
                ),
            ],
            None,
        ),
        "scheduler": (
            Annotated[
                str | None,
                typer.Option(
                    "--scheduler",
                    metavar="ADDRESS",
                    help="backend dask: the scheduler's address, tcp://HOST:PORT or tls://HOST:PORT.",
                    rich_help_panel=RUNNING,
                ),
            ],
            None,
        ),
        "as_json": (
            Annotated[
                bool,
                typer.Option("--json", help="Print summary.json on stdout, nothing else.", rich_help_panel=RUNNING),
            ],
            False,
        ),
    }


def make_command(study: str, about: str) -> Callable[..., None]:
    """The command of a study, with its options and those about the table."""
    fields = {**Request.model_fields, **SETTINGS[study].model_fields}
    parameters = [inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)]
    run_options = _run_options()
    for name, field in fields.items():
        parameters.append(_parameter(name, field))
    for name, (annotation, default) in run_options.items():
        parameters.append(
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default)
        )

    def command(context: typer.Context, **given: Any) -> None:
        if context.invoked_subcommand is not None:
            _check_no_options(context)
            return
        typed = {name: _value(field, given[name]) for name, field in fields.items() if _is_typed(context, name)}
        run_study(study, typed, **{name: given[name] for name in run_options})

    command.__doc__ = about
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return command


def _parameter(name: str, field: FieldInfo) -> inspect.Parameter:
    option = option_of(field)
    kind, default, shown = _form(field)
    shown = option.shown or shown
    text = f"{option.help}  [default: {shown}]" if shown else option.help
    metavar = None if kind is bool else _metavar(field)
    info = typer.Option(
        flag_of(name, field), help=text, rich_help_panel=option.group, show_default=False, metavar=metavar
    )
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=Annotated[kind, info], default=default)


def _form(field: FieldInfo) -> tuple[Any, Any, str | bool]:
    """The type on the command line, its default there, and the default that is shown.

    Everything but a switch is a word: settings check themselves, with the same sentences as in a plan.
    """
    default = field.get_default(call_default_factory=True)
    if isinstance(default, bool):
        return bool, False, False
    if isinstance(default, dict):
        return list[str] | None, None, False
    shown = ",".join(str(each) for each in default) if holds_several(field) else str(default)
    return str | None, None, shown if default not in (None, (), "") else False


def _metavar(field: FieldInfo) -> str:
    """What is to be typed, in help."""
    if isinstance(field.get_default(call_default_factory=True), dict):
        return "NAME=VALUE"
    word = {int: "NUMBER", float: "NUMBER", Path: "FILE"}.get(plain_type(field), "TEXT")
    return f"{word},..." if holds_several(field) else word


def _is_typed(context: typer.Context, name: str) -> bool:
    """Whether the user typed the option, rather than leaving it at its default."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _value(field: FieldInfo, given: Any) -> Any:
    """What was typed, in the form of its setting."""
    option = option_of(field)
    if option.off:
        return not given
    if isinstance(given, list):
        return _pairs(option.flag, given)
    if holds_several(field):
        return tuple(part.strip() for part in str(given).split(",") if part.strip())
    return given


def _pairs(flag: str, entries: list[str]) -> dict[str, str]:
    """Pairs of ``name=value``."""
    pairs: dict[str, str] = {}
    for entry in entries:
        name, equals, value = (part.strip() for part in entry.partition("="))
        if not (equals and name and value):
            raise InputError(f"{flag} {entry!r} is not of the form name=value.")
        if name in pairs:
            raise InputError(f"{flag} names {name!r} twice.")
        pairs[name] = value
    return pairs


def _check_no_options(context: typer.Context) -> None:
    """Options before the name of another study would be lost."""
    for parameter in context.command.params:
        if parameter.name and _is_typed(context, parameter.name):
            raise InputError(
                f"Options come after the study: seepage audit {context.invoked_subcommand} {parameter.opts[0]} ..."
            )


def run_study(
    study: str,
    typed: dict[str, Any],
    *,
    plan: Path | None,
    out: str,
    jobs: int | None,
    backend: str | None,
    scheduler: str | None,
    as_json: bool,
) -> None:
    """Run what was typed, or a plan with what was typed beside it, and show what came out."""
    from seepage.runs import make_plan, open_sources, read_plan, with_typed  # torch takes seconds

    values: dict[str, Any] = {"study": study, **typed}
    if plan is not None:
        read = read_plan(plan)
        if read["study"] != study and study != "rows":
            raise InputError(f"The plan {plan} is of the study {read['study']}; this command is of the study {study}.")
        values = with_typed(read, typed)
    made = make_plan(values)
    sources = open_sources(made)
    folder = run_folder(out, f"{sources[0].name}-{plan.stem if plan else made.study.name}")
    summary = open_and_run(
        made, sources, folder, _command(made, values, sources[0]), jobs, backend, scheduler, strict=plan is None
    )
    finish(summary, folder, as_json)


def _command(plan: Plan, values: dict[str, Any], source: Any) -> str:
    """The command that repeats this: what was audited instead of a table that could not be fetched is repeated."""
    from seepage.runs import command_line, make_plan

    if len(plan.variants) > 1:
        return shlex.join(["seepage", *sys.argv[1:]])
    if plan.variants[0].request.fallback and source.notes:
        return command_line(make_plan(values | {"data": source.name, "fallback": None}))
    return command_line(plan)
