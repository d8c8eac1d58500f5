"""Parts by name: everything a user can ask for in a word.

A part is ours (``plans/parts``), of an installed package (entry points ``seepage.attacks``, ``seepage.defenses``,
``seepage.models``, ``seepage.data``), an object that is named where it stands (``package.module:object``), or a plain
object in Python. All of them are made, listed and written down in the same way.
"""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache
from typing import Any

from seepage._core import InputError, unknown_name
from seepage._core.files import digest
from seepage._core.plugins import Plugin, object_at, plugins
from seepage.plans.options import MOST as MILLION
from seepage.plans.part import Part
from seepage.plans.spec import Spec, options_of, with_options, written

ENTRY_POINTS = {"attack": "seepage.attacks", "defence": "seepage.defenses", "model": "seepage.models"}
METHODS = {
    "attack": "start",
    "defence": "protect",
    "model": "build",
    "criterion": "function",
    "optimiser": "step",
    "server": "step",
}  # what each must have
KINDS = ("attack", "defence", "model", "optimiser", "server", "reader", "loss", "design")


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
    if kind in ENTRY_POINTS:
        others, shelf.broken = plugins(ENTRY_POINTS[kind])
        _add_others(kind, shelf, [_of_package(each) for each in others])
    return shelf


def _add_others(kind: str, shelf: _Shelf, others: Sequence[Part]) -> None:
    """Parts of packages; one whose name is taken is left out and named, so that nobody gets another than they think."""
    for part in others:
        rivals = [each for each in (*shelf.parts, *others) if each is not part and _clash(each, part)]
        if not rivals:
            shelf.parts.append(part)
            continue
        whose = " and ".join(sorted({each.origin or "Seepage" for each in rivals}))
        reason = f"the name is also one of {whose}; name it by package.module:object"
        shelf.broken[part.name] = f"package {part.origin}: {reason}"
        warnings.warn(f"The {kind} {part.name!r} of the package {part.origin} is left out: {reason}", stacklevel=2)


def _clash(one: Part, other: Part) -> bool:
    return one.name == other.name and bool(set(one.works_on) & set(other.works_on))


def _of_package(plugin: Plugin) -> Part:
    if isinstance(plugin.part, Part):
        return Part(**{**vars(plugin.part), "name": plugin.name, "origin": plugin.package})
    return _as_part(plugin.part, plugin.name, plugin.package)


def _as_part(found: Any, name: str, origin: str) -> Part:
    """A class, a factory or an instance of somebody else as a part."""
    text = (found if callable(found) else type(found)).__doc__ or ""
    works_on = tuple(getattr(found, "works_on", ("rows",)))
    make = found if isinstance(found, type) or (callable(found) and not is_dataclass(found)) else lambda: found
    return Part(
        name=name,
        make=make,
        about=text.strip().partition("\n")[0],
        works_on=works_on,
        joins_rounds=bool(getattr(found, "joins_rounds", False)),
        origin=origin,
    )


# Updates that were captured are attacked by what attacks simulated ones.
LIKE = {"updates": "rows"}
# Clients train the same models, whether their updates are seen one by one or added up.
LIKE_MODELS = {"cohorts": "rows"}


def _like(kind: str, study: str) -> str:
    """The study whose parts of a kind work in this one."""
    return (LIKE | LIKE_MODELS if kind == "model" else LIKE).get(study, study)


def parts_of(kind: str, study: str | None = None) -> list[Part]:
    """All parts of a kind, or those that work in one study."""
    shelf, study = _shelf(kind), _like(kind, study) if study else study
    return [part for part in (*shelf.parts, *shelf.handed.values()) if study is None or study in part.works_on]


def broken_parts(kind: str) -> Mapping[str, str]:
    """Entry points that could not be loaded, and why."""
    return _shelf(kind).broken


def find(kind: str, name: str, study: str) -> Part:
    """The part of this name that works in this study."""
    study = _like(kind, study)
    if ":" in name:
        part = _pointed_at(kind, name)
        if study not in part.works_on:
            raise InputError(f"The {kind} {name!r} works in the study {' and '.join(part.works_on)}, not in {study}.")
        return part
    shelf = _shelf(kind)
    having = [part for part in (*shelf.handed.values(), *shelf.parts) if part.name == name]
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
    found = _understood(kind, object_at(name))
    return found if isinstance(found, Part) else _as_part(found, name, name.partition(".")[0].partition(":")[0])


def _understood(kind: str, found: Any) -> Any:
    """What somebody gives or names; a plain torch module, or a function that makes one, is a model."""
    if kind not in ("model", "criterion") or isinstance(found, Part):
        return found
    if kind == "criterion":
        from seepage.models.own_loss import as_loss

        return as_loss(found)
    from seepage.models import as_architecture  # torch takes seconds

    return as_architecture(found)


def name_of(kind: str, text: str) -> str:
    """The name in a spec, without its options."""
    return _read(kind, text).name


def joins_rounds(attack: str, study: str) -> bool:
    """Whether the attack of a spec reads several rounds of a client as one."""
    return find("attack", name_of("attack", attack), study).joins_rounds


def make(kind: str, text: str, study: str, options: Mapping[str, str] | None = None) -> Any:
    """What a spec names, in one study; ``options`` are for those that the spec leaves open."""
    return _made(kind, text, study, options)[0]


def written_out(kind: str, asked: Any, study: str) -> str:
    """A spec as it stands in a cell: every option named, numbers in one way of writing, mistakes told.

    An object that is given in Python is kept under its class's name and options; it works in this process only.
    """
    if isinstance(asked, str):
        return _made(kind, asked, study)[1]
    if asked is None or isinstance(asked, bool | int | float | bytes | Mapping | Sequence):
        raise InputError(f"A {kind} is {asked!r}; it must be a name, such as {parts_of(kind, study)[0].name!r}.")
    asked = _understood(kind, asked)
    if not hasattr(asked, METHODS.get(kind, "__class__")):
        raise InputError(f"A {kind} is a {type(asked).__name__}, which has no method {METHODS[kind]!r}.")
    name = _name_of(asked)
    part = _as_part(asked, name, "this program")
    _shelf(kind).handed[name] = Part(**{**vars(part), "make": lambda: asked, "works_on": (_like(kind, study),)})
    return ":".join([name, *(f"{option}={written(value)}" for option, value in options_of(asked).items())])


def _name_of(asked: object) -> str:
    """The class's name; with a digest if an option stands in it that a spec cannot say."""
    plain = options_of(asked)
    if not is_dataclass(asked) or all(each.name in plain for each in fields(asked) if each.init):
        return type(asked).__name__
    return f"{getattr(asked, 'called', type(asked).__name__)}@{digest(repr(asked).encode())[:8]}"


def is_handed(kind: str, text: str) -> bool:
    """Whether a spec names an object that only this process has."""
    return _read(kind, text).name in _shelf(kind).handed


def _read(kind: str, text: str) -> Spec:
    """A spec; ``module:object`` of a module without a package is told from ``name:value`` by what there is."""
    spec = Spec.read(text)
    if not (spec.value or "").isidentifier() or spec.name in {part.name for part in parts_of(kind)}:
        return spec
    is_module = spec.name.isidentifier() and importlib.util.find_spec(spec.name) is not None
    return Spec(f"{spec.name}:{spec.value}", spec.options) if is_module else spec


def _made(kind: str, text: str, study: str, options: Mapping[str, str] | None = None) -> tuple[Any, str]:
    spec = _read(kind, text)
    part = find(kind, spec.name, study)
    what = f"option of {kind} {spec.name!r}"
    own = spec.named(part.main, kind)
    asked = {**(options or {}), **own}
    made = with_options(_instance(kind, part), what, asked)
    _check_most(kind, made, what, asked)
    return made, spec.written_out(made, own)


MOST = {"reader": 10_000}  # that a whole number among the options may be, by kind; a million elsewhere
ANYTHING = 10**12  # that other numbers may be
LAYERS = 1_000  # of a model: more of them take minutes to be put together
WIDTHS = frozenset({"width", "n_d", "n_a", "embedding", "channels", "hidden"})  # of a model: counted before it is built


def _check_most(kind: str, made: Any, what: str, asked: Mapping[str, str]) -> None:
    """Numbers that no honest run has stop here, before anything is built with them."""
    for name in asked:
        value = getattr(made, name)
        if isinstance(value, int) and name != "memory":
            most = LAYERS if kind == "model" and name not in WIDTHS else MOST.get(kind, MILLION)
        else:
            most = ANYTHING
        if isinstance(value, int | float) and abs(value) > most:
            raise InputError(f"The {what} {name!r} is {value:,}; it must be at most {most:,}.")


def _instance(kind: str, part: Part) -> Any:
    """What a part makes. One of somebody else may fail in any way, or be something else: that is one sentence."""
    if not part.origin:
        return part.make()
    try:
        made = part.make()
    except Exception as error:  # noqa: BLE001  # somebody else's code
        raise InputError(f"The {kind} {part.name!r} of {part.origin} cannot be made: {error}.") from None
    if not hasattr(made, METHODS.get(kind, "__class__")):
        raise InputError(f"The {kind} {part.name!r} of {part.origin} has no method {METHODS[kind]!r}.")
    return made


def listed(kind: str, study: str | None = None) -> list[dict[str, Any]]:
    """The parts of a kind as facts, with their options."""
    facts: Sequence[str] = ("name", "about", "works_on", "needs", "paper", "origin")
    every = []
    for part in parts_of(kind, study):
        try:
            options = options_of(_instance(kind, part))
        except InputError as error:
            _shelf(kind).broken[part.name] = str(error)
            continue
        every.append({name: getattr(part, name) for name in facts} | {"options": options})
    return every
