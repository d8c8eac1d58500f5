"""Plans: an audit in a TOML file, with the same keys as the Python API."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, get_type_hints

from pydantic import TypeAdapter, ValidationError

from seepage._core import InputError, unknown_name
from seepage.audit.settings import SEVERAL, Settings, make_settings
from seepage.audit.source import Request

ABOUT = {field.name for field in fields(Request)}
KEYS = (*(field.name for field in fields(Request)), *Settings.model_fields)
_TYPES = get_type_hints(Request) | {"task": str | None}  # a wrong task is told with the nearest one


def read_plan(path: str | Path) -> dict[str, Any]:
    """The values of a plan, as :func:`seepage.audit` takes them; a mistake is one sentence.

    A plan is flat: every key is one of :class:`Request` or :class:`Settings`. A path in it is taken from the folder in
    which the audit is started, as on the command line.

    Example:
        >>> values = read_plan("reproductions/tableak/noise.toml")  # doctest: +SKIP
        >>> seepage.audit(**values)  # doctest: +SKIP
    """
    values = {SEVERAL.get(key, key): value for key, value in _parsed(Path(path)).items()}
    for key in values:
        if key not in KEYS:
            raise unknown_name(f"key in the plan {path}:", key, KEYS)
    prepare({"data": None} | values)  # told now, before anything beside the plan can hide it
    return values


def prepare(values: Mapping[str, Any]) -> tuple[Request, Settings]:
    """The request and the settings that these values make; everything is checked."""
    about = {name: _checked(name, value) for name, value in values.items() if name in ABOUT}
    settings = make_settings(**{name: value for name, value in values.items() if name not in ABOUT})
    return Request(**about), settings


def _parsed(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"There is no plan {path}.") from None
    except OSError as error:
        raise InputError(f"The plan {path} cannot be read: {error.strerror}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"The plan {path} is not valid TOML: {error}.") from None


def _checked(name: str, value: Any) -> Any:
    """A value about the table, in its type; one column where several are allowed is fine."""
    if name in ("drop", "sensitive") and isinstance(value, str):
        value = (value,)
    if name in ("schema", "path"):
        value = value or None
    try:
        return TypeAdapter(_TYPES[name]).validate_python(value)
    except ValidationError as error:
        raise InputError(f"{name!r} is {value!r}: {error.errors()[0]['msg']}.") from None
