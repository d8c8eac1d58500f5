"""Specs: a name with options in one word, ``dp_sgd:clip=1:noise=0.5``."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

from seepage._core import InputError, unknown_name

PLAIN = (bool, int, float, str)  # options a spec can set; parts of an attack are not among them


@dataclass(frozen=True)
class Spec:
    """A name, options with values, and at most one value without a name.

    Example:
        >>> Spec.read("top_k:0.1").value
        '0.1'
        >>> Spec.read("dp_sgd:clip=1:noise=0.5").options
        {'clip': '1', 'noise': '0.5'}
    """

    name: str
    options: Mapping[str, str]
    value: str | None = None

    @staticmethod
    def read(text: str) -> Spec:
        """The spec that is written so."""
        name, *parts = (part.strip() for part in text.split(":"))
        if "." in name and parts and parts[0] and "=" not in parts[0] and not name.replace(".", "").isdigit():
            name, parts = f"{name}:{parts[0]}", parts[1:]  # package.module:object
        options: dict[str, str] = {}
        values: list[str] = []
        for part in parts:
            key, equals, value = (word.strip() for word in part.partition("="))
            if not part or (equals and not (key and value)):
                raise InputError(f"{text!r} is not of the form name:option=value; an option or its value is empty.")
            if key in options:
                raise InputError(f"{text!r} sets {key!r} twice.")
            if equals:
                options[key] = value
            else:
                values.append(part)
        if len(values) > 1:
            raise InputError(f"{text!r} has {len(values)} values without a name; write option=value.")
        return Spec(name, options, values[0] if values else None)

    def named(self, main: str, kind: str) -> dict[str, str]:
        """All options by name; a bare value is that of the ``main`` option."""
        if self.value is None:
            return dict(self.options)
        if not main:
            raise InputError(f"{self.value!r} of {kind} {self.name!r} has no name; write option=value.")
        if main in self.options:
            raise InputError(f"{kind.capitalize()} {self.name!r} sets {main!r} twice.")
        return {main: self.value, **self.options}

    def written_out(self, made: Any, names: Iterable[str]) -> str:
        """The spec with its options named, and their values as they were understood."""
        return ":".join([self.name, *(f"{name}={written(getattr(made, name))}" for name in names)])


def written(value: Any) -> str:
    """A value in one way of writing: 1.0 is 1, and 1e-3 is 0.001."""
    if isinstance(value, float):
        return f"{value:.10g}"
    return str(value).lower() if isinstance(value, bool) else str(value)


def options_of(instance: Any) -> dict[str, Any]:
    """The options of a frozen dataclass that a spec can set, with their values."""
    if not is_dataclass(instance):  # a part of somebody else may have none
        return {}
    found = {field.name: getattr(instance, field.name) for field in fields(instance) if field.init}
    return {name: value for name, value in found.items() if isinstance(value, PLAIN)}


def with_options(instance: Any, what: str, options: Mapping[str, str]) -> Any:
    """A frozen dataclass with some fields changed; text becomes the type of the field's value."""
    known = options_of(instance)
    changes = {}
    for name, text in options.items():
        if name not in known:
            raise unknown_name(what, name, known) if known else InputError(f"Unknown {what} {name!r}; it has none.")
        changes[name] = _understood(text, type(known[name]), f"The {what} {name!r} is {text!r}")
    return replace(instance, **changes) if changes else instance


def _understood(text: str, kind: type, said: str) -> Any:
    if kind is bool:
        if text.lower() not in ("true", "false"):
            raise InputError(f"{said}; it must be true or false.")
        return text.lower() == "true"
    try:
        value = kind(text)
    except ValueError:
        raise InputError(f"{said}; it must be of type {kind.__name__}.") from None
    if kind is float and not math.isfinite(value):
        raise InputError(f"{said}; it must be a finite number.")
    return value
