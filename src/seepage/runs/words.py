"""A plan as the command that repeats it."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from seepage.plans.options import flag_of, option_of
from seepage.runs.plan import Plan
from seepage.studies import command_of


def command_line(plan: Plan) -> str:
    """The command that repeats this: everything that differs from the defaults. A grid needs its plan file."""
    words = command_of(plan.study.name).split()
    if len(plan.variants) > 1:
        return shlex.join([*words, "--plan", "PLAN"])
    request, settings = plan.variants[0].request, plan.variants[0].settings
    said = [*_typed(request), *_typed(settings)]
    open_ended = plan.study.name == "rows" and not {"--exposure", "--trials", "--attacks", "--batch-size"} <= set(said)
    # What is not said would be chosen anew, to fit the time.
    return shlex.join([*words, *said, *(["--thorough"] if open_ended else [])])


def _typed(said: BaseModel) -> list[str]:
    """The options of all fields that are not at their default."""
    words: list[str] = []
    for name, field in type(said).model_fields.items():
        value, default = getattr(said, name), field.get_default(call_default_factory=True)
        if value is not None and (default is None or value != default):  # a frame cannot be compared with nothing
            option = option_of(field)
            words += [str(value)] if option.positional else _option(flag_of(name, field), value, off=bool(option.off))
    return words


def _option(flag: str, value: Any, *, off: bool) -> list[str]:
    if isinstance(value, bool):
        return [flag] if value is not off else []
    if isinstance(value, dict):
        return [word for key, entry in value.items() for word in (flag, f"{key}={entry}")]
    if isinstance(value, tuple | list):
        return [flag, ",".join(str(entry) for entry in value)]
    return [flag, str(value) if isinstance(value, str | int | float | Path) else "FILE"]  # a frame has no name
