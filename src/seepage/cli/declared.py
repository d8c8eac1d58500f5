"""A command from declared options: fields with an :class:`Option` beside their type, of settings or of commands."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from seepage._core import InputError
from seepage.plans.options import flag_of, holds_several, option_of, plain_type

Typed = dict[str, object]


def make_command(
    fields: Mapping[str, FieldInfo], about: str, run: Callable[[typer.Context, Typed], None]
) -> Callable[..., None]:
    """A command with these options. ``run`` gets what the user typed, by the names of the fields, and nothing else."""
    parameters = [inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)]
    parameters += [_parameter(name, field) for name, field in fields.items()]

    def command(context: typer.Context, **given: object) -> None:
        run(context, {name: _value(field, given[name]) for name, field in fields.items() if is_typed(context, name)})

    command.__doc__ = about
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    command.aliases = other_names(fields)  # type: ignore[attr-defined]
    return command


def other_names(fields: Mapping[str, FieldInfo]) -> dict[str, str]:
    """The names that options have in plan files and in Python, with the flag of each: they can be typed, too.

    A switch that turns something off has a name of its own only: ``--labels-unknown``.
    """
    flags = {flag_of(name, field).removeprefix("--") for name, field in fields.items()}
    found = {}
    for name, field in fields.items():
        option, flag = option_of(field), flag_of(name, field).removeprefix("--")
        for other in (name.replace("_", "-"), option.one.replace("_", "-")):
            if other and other not in flags and not option.off and not option.positional:
                found[other] = flag
    return found


def split(typed: Typed, kind: type[BaseModel]) -> tuple[Typed, Typed]:
    """What was typed of one class of options, and the rest."""
    own = {name: value for name, value in typed.items() if name in kind.model_fields}
    return own, {name: value for name, value in typed.items() if name not in own}


def is_typed(context: typer.Context, name: str) -> bool:
    """Whether the user typed the option, rather than leaving it at its default."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _parameter(name: str, field: FieldInfo) -> inspect.Parameter:
    option = option_of(field)
    kind, shown = _form(field)
    shown = option.shown or shown
    text = f"{option.help}  [default: {shown}]" if shown else option.help
    if option.positional and holds_several(field):
        kind = list[str] | None
        info: Any = typer.Argument(help=option.help, show_default=False, metavar=f"{name.upper().removesuffix('S')}...")
    elif option.positional:
        info = typer.Argument(help=option.help, show_default=False, metavar=f"[{name.upper()}]")
    else:
        metavar = None if kind is bool else _metavar(field)
        flag = flag_of(name, field)
        info = typer.Option(flag, help=text, rich_help_panel=option.group, show_default=False, metavar=metavar)
    default = False if kind is bool else None
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=Annotated[kind, info], default=default)


def _form(field: FieldInfo) -> tuple[object, str]:
    """The type on the command line, and the default that is shown.

    Everything but a switch is a word: options check themselves, with the same sentences as in a plan.
    """
    default = field.get_default(call_default_factory=True)
    if isinstance(default, bool):
        return bool, ""
    if isinstance(default, dict):
        return list[str] | None, ""
    shown = ",".join(str(each) for each in default) if holds_several(field) else str(default)
    return str | None, shown if default not in (None, (), "") else ""


def _metavar(field: FieldInfo) -> str:
    """What is to be typed, in help."""
    if isinstance(field.get_default(call_default_factory=True), dict):
        return "NAME=VALUE"
    word = {int: "NUMBER", float: "NUMBER", Path: "FILE"}.get(plain_type(field), "TEXT")
    return f"{word},..." if holds_several(field) else word


def _value(field: FieldInfo, given: object) -> object:
    """What was typed, in the form of its option."""
    option = option_of(field)
    if option.off:
        return not given
    if isinstance(given, list):
        return tuple(given) if option.positional else pairs(option.flag, given)
    if holds_several(field):
        return tuple(part.strip() for part in str(given).split(",") if part.strip())
    return given


def pairs(flag: str, entries: list[str]) -> dict[str, str]:
    """What was typed as pairs of ``name=value``."""
    found: dict[str, str] = {}
    for entry in entries:
        name, equals, value = (part.strip() for part in entry.partition("="))
        if not (equals and name and value):
            raise InputError(f"{flag} {entry!r} is not of the form name=value.")
        if name in found:
            raise InputError(f"{flag} names {name!r} twice.")
        found[name] = value
    return found
