"""Parts by name: everything a user can ask for in a word.

A part is ours (``plans/parts``), of an installed package (entry points ``seepage.attacks``, ``seepage.defenses``,
``seepage.models``, ``seepage.data``), an object that is named where it stands (``package.module:object``), or a plain
object in Python. All of them are made, listed and written down in the same way.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, is_dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from seepage._core import InputError, unknown_name
from seepage.plans.part import Part
from seepage.plans.spec import Spec, options_of, with_options

ENTRY_POINTS = {"attack": "seepage.attacks", "defence": "seepage.defenses", "model": "seepage.models"}
KINDS = ("attack", "defence", "model", "reader", "loss", "design")


@dataclass
class _Shelf:
    """All parts of one kind, and what could not be loaded."""

    parts: list[Part] = field(default_factory=list)
    broken: dict[str, str] = field(default_factory=dict)
    handed: dict[str, Part] = field(default_factory=dict)  # objects given in Python


@cache
def _shelf(kind: str) -> _Shelf:
    from seepage.plans import parts  # torch takes seconds

    shelf = _Shelf(parts=list(parts.PARTS[kind]))
    for point in entry_points(group=ENTRY_POINTS[kind]) if kind in ENTRY_POINTS else ():
        package = point.dist.name if point.dist else point.value.partition(".")[0]
        try:
            shelf.parts.append(_of_package(point, package))
        # A package of somebody else may fail in any way; it is named, and the rest works.
        except Exception as error:  # noqa: BLE001
            shelf.broken[point.name] = f"{package}: {type(error).__name__}: {error}"
            warnings.warn(
                f"The {kind} {point.name!r} of the package {package} cannot be loaded ({error}).", stacklevel=2
            )
    _check_names(kind, shelf.parts)
    return shelf


def _of_package(point: EntryPoint, package: str) -> Part:
    found = point.load()
    if isinstance(found, Part):
        return Part(**{**vars(found), "name": point.name, "origin": package})
    return _as_part(found, point.name, package)


def _as_part(found: Any, name: str, origin: str) -> Part:
    """A class, a factory or an instance of somebody else as a part."""
    text = (found if callable(found) else type(found)).__doc__ or ""
    works_on = tuple(getattr(found, "works_on", ("rows",)))
    make = found if isinstance(found, type) or (callable(found) and not is_dataclass(found)) else lambda: found
    return Part(name=name, make=make, about=text.strip().partition("\n")[0], works_on=works_on, origin=origin)


def _check_names(kind: str, parts: Iterable[Part]) -> None:
    seen: dict[tuple[str, str], Part] = {}
    for part in parts:
        for study in part.works_on:
            other = seen.setdefault((part.name, study), part)
            if other is not part:
                whose = " and ".join(each.origin or "Seepage" for each in (other, part))
                raise InputError(
                    f"There are two {kind}s named {part.name!r} for the study {study} (of {whose}); remove one of the "
                    "packages, or name the part by package.module:object."
                )


def parts_of(kind: str, study: str | None = None) -> list[Part]:
    """All parts of a kind, or those that work in one study."""
    shelf = _shelf(kind)
    return [part for part in (*shelf.parts, *shelf.handed.values()) if study is None or study in part.works_on]


def broken_parts(kind: str) -> Mapping[str, str]:
    """Entry points that could not be loaded, and why."""
    return _shelf(kind).broken


def find(kind: str, name: str, study: str) -> Part:
    """The part of this name that works in this study."""
    if ":" in name:
        return _pointed_at(kind, name)
    shelf = _shelf(kind)
    having = [part for part in (*shelf.parts, *shelf.handed.values()) if part.name == name]
    for part in having:
        if study in part.works_on:
            return part
    if having:
        raise InputError(
            f"The {kind} {name!r} works in the study {' and '.join(having[0].works_on)}; this is the study {study}, "
            f"whose {kind}s are: {', '.join(part.name for part in parts_of(kind, study))}."
        )
    if name in shelf.broken:
        raise InputError(f"The {kind} {name!r} cannot be loaded ({shelf.broken[name]}).")
    raise unknown_name(kind, name, [part.name for part in parts_of(kind, study)])


def _pointed_at(kind: str, name: str) -> Part:
    """``package.module:object``."""
    module, _, place = name.partition(":")
    try:
        found: Any = importlib.import_module(module)
        for word in place.split("."):
            found = getattr(found, word)
    except (ImportError, AttributeError) as error:
        raise InputError(f"The {kind} {name!r} cannot be loaded: {error}.") from None
    return found if isinstance(found, Part) else _as_part(found, name, module.partition(".")[0])


def make(kind: str, text: str, study: str, options: Mapping[str, str] | None = None) -> Any:
    """What a spec names, in one study; ``options`` are for those that the spec leaves open."""
    return _made(kind, text, study, options)[0]


def written_out(kind: str, asked: Any, study: str) -> str:
    """A spec as it stands in a cell: every option named, numbers in one way of writing, mistakes told.

    An object that is given in Python is kept under its class's name; it works in this process only.
    """
    if isinstance(asked, str):
        return _made(kind, asked, study)[1]
    name = type(asked).__name__
    part = _as_part(asked, name, "this program")
    _shelf(kind).handed[name] = Part(**{**vars(part), "make": lambda: asked, "works_on": (study,)})
    return name


def is_handed(kind: str, text: str) -> bool:
    """Whether a spec names an object that only this process has."""
    return Spec.read(text).name in _shelf(kind).handed


def _made(kind: str, text: str, study: str, options: Mapping[str, str] | None = None) -> tuple[Any, str]:
    spec = Spec.read(text)
    part = find(kind, spec.name, study)
    what = f"option of {kind} {spec.name!r}"
    own = spec.named(part.main, kind)
    made = with_options(part.make(), what, {**(options or {}), **own})
    return made, spec.written_out(made, own)


def listed(kind: str, study: str | None = None) -> list[dict[str, Any]]:
    """The parts of a kind as facts, with their options."""
    facts: Sequence[str] = ("name", "about", "works_on", "needs", "paper", "origin")
    return [
        {name: getattr(part, name) for name in facts} | {"options": options_of(part.make())}
        for part in parts_of(kind, study)
    ]
