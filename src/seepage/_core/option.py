"""How a setting is said, on the command line, in plan files and in Python: declared once, beside its type."""

from __future__ import annotations

from dataclasses import dataclass

MAIN = "Options"  # the ones a person needs first
RUNNING = "Running"
ADVANCED = "Advanced"


@dataclass(frozen=True, kw_only=True)
class Option:
    """How a setting is said.

    Args:
        help: one or two sentences, as the command line shows them.
        group: heading under which the command line shows it.
        flag: on the command line, if it is not the setting's name: ``--batch-size`` for ``batch_sizes``.
        off: for a switch that is on unless said: the flag that turns it off.
        one: another name of the setting for a single value: ``model`` for ``models``.
        part: kind of part that its values name (``attack``, ``model``, ...); they are checked against the registry.
        shown: what the command line shows as its default, where that is not the default itself.
        positional: it is typed without a flag.
    """

    help: str
    group: str = ADVANCED
    flag: str = ""
    off: str = ""
    one: str = ""
    part: str = ""
    shown: str = ""
    positional: bool = False
