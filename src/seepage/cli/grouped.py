"""Help in groups: what a person needs first, then the rest under headings of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from typer.core import TyperCommand, TyperGroup


def _write_groups(command: Any, context: Any, formatter: Any) -> None:
    """Arguments and options under the heading each was given; those without one come first."""
    groups: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None:
            kind = "Arguments" if parameter.param_type_name == "argument" else "Options"
            groups.setdefault(getattr(parameter, "rich_help_panel", None) or kind, []).append(record)
    last = groups["Options"]
    for entry in [entry for entry in last if entry[0].startswith("--help")]:  # at the end of the first group
        last.remove(entry)
        last.append(entry)
    for heading, entries in groups.items():
        if entries:
            with formatter.section(heading):
                formatter.write_dl(entries)


def _as_declared(callback: Any) -> Callable[[str], str]:
    """From a word that was typed to the flag that is declared: ``batch_sizes`` is ``batch-size``."""
    aliases: dict[str, str] = getattr(callback, "aliases", {})

    def declared(word: str) -> str:
        plain = word.replace("_", "-")
        return aliases.get(plain, plain)

    return declared


class GroupedCommand(TyperCommand):
    """A command whose help is in groups, and whose options can be typed by their names in plans."""

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self.context_settings = {**self.context_settings, "token_normalize_func": _as_declared(self.callback)}

    def format_options(self, ctx: Any, formatter: Any) -> None:
        _write_groups(self, ctx, formatter)


class OrderedGroup(TyperGroup):
    """Commands in the order of ``ORDER``: what a newcomer needs comes first."""

    ORDER = (
        "audit",
        "advise",
        "train",
        "plan",
        "gate",
        "dp",
        "report",
        "compare",
        "export",
        "serve",
        "capture",
        "reproduce",
        "data",
        "attacks",
    )

    def list_commands(self, ctx: Any) -> list[str]:
        known = list(super().list_commands(ctx))
        first = [name for name in self.ORDER if name in known]
        return first + [name for name in known if name not in first]


class GroupedGroup(TyperGroup):
    """The same with sub-commands."""

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self.context_settings = {**self.context_settings, "token_normalize_func": _as_declared(self.callback)}

    def format_options(self, ctx: Any, formatter: Any) -> None:
        _write_groups(self, ctx, formatter)
        self.format_commands(ctx, formatter)
