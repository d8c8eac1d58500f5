"""Mistakes on the command line, each in one sentence: an option of another study is told with the study that has it."""

from __future__ import annotations

import re
from typing import Any

import typer

from seepage._core import InputError, nearest
from seepage.data.request import Request
from seepage.plans.options import flag_of
from seepage.studies import SETTINGS, command_of

# Typer carries its own copy of click in newer versions, so the class is found by way of one that it exports.
UsageError: type[Exception] = typer.BadParameter.__mro__[1]


def told(error: Any) -> InputError:
    """What was typed wrongly, in one sentence."""
    option = getattr(error, "option_name", None)
    if option is not None and getattr(error, "possibilities", option) is not option:  # no such option
        return _unknown_option(str(option), error.ctx)
    sentence = " ".join(error.format_message().split())
    context, about = getattr(error, "ctx", None), getattr(getattr(error, "param", None), "help", None)
    unknown = re.match(r"No such command '(.*?)'\.", sentence)
    if unknown is not None and context is not None:
        return _unknown_command(unknown[1], list(getattr(context.command, "commands", {})), context.command_path)
    if sentence.startswith("Missing argument") and context is not None and about:
        return InputError(f"{sentence} {about} See {context.command_path} --help.")
    return InputError(sentence)


def _unknown_command(name: str, known: list[str], path: str) -> InputError:
    """The nearest one alone: the parsers below add lists of their own, each in other words."""
    guess = nearest(name, known)
    sentence = f"No such command '{name}'." + (f" Did you mean '{guess}'?" if guess else "")
    if path == "seepage audit":
        sentence += " A table is named with --data: seepage audit --data FILE --target COLUMN"
    return InputError(sentence)


def _unknown_option(option: str, context: Any) -> InputError:
    having = [study for study, flags in _flags().items() if option in flags]
    command = context.command_path if context else "seepage"
    if having and command in map(command_of, SETTINGS):
        studies = f"the study {having[0]}" if len(having) == 1 else f"the studies {' and '.join(having)}"
        others = " or ".join(f"{command_of(study)} {option}" for study in having)
        return InputError(f"The option {option} belongs to {studies}: {others}. This is {command}.")
    own = [flag for parameter in context.command.params for flag in parameter.opts] if context else []
    guess = nearest(option, own)
    hint = f" Did you mean {guess}?" if guess else ""
    return InputError(f"There is no option {option}.{hint} See {command} --help.")


def _flags() -> dict[str, set[str]]:
    """The options of every study, without those that are about the table."""
    common = {flag_of(name, field) for name, field in Request.model_fields.items()}
    return {
        study: {flag_of(name, field) for name, field in kind.model_fields.items()} - common
        for study, kind in SETTINGS.items()
    }
