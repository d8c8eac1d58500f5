"""Parts of other people: those that installed packages announce, and objects named where they stand."""

from __future__ import annotations

import importlib
import re
import warnings
from dataclasses import dataclass
from importlib.metadata import entry_points

from seepage._core.errors import InputError

_PLACE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")


@dataclass(frozen=True)
class Plugin:
    """An object that a package announces under a name."""

    name: str
    package: str
    part: object


def plugins(group: str) -> tuple[list[Plugin], dict[str, str]]:
    """What installed packages announce in a group of entry points, and what cannot be loaded, with the reason.

    A package that fails is told in a warning, and the rest works.
    """
    loaded, broken = [], {}
    for point in sorted(entry_points(group=group), key=lambda each: (each.name, each.value)):
        package = point.dist.name if point.dist else point.value.partition(".")[0]
        try:
            loaded.append(Plugin(point.name, package, point.load()))
        except Exception as error:  # noqa: BLE001  # somebody else's package may fail in any way
            broken[point.name] = f"package {package}: {type(error).__name__}: {error}"
            warnings.warn(f"{point.name!r} ({group}) of the package {package} cannot be loaded: {error}", stacklevel=2)
    return loaded, broken


def is_place(text: str) -> bool:
    """Whether a text has the form ``package.module:object``."""
    return _PLACE.fullmatch(text) is not None


def object_at(place: str) -> object:
    """The object at ``package.module:object``."""
    if not is_place(place):
        raise InputError(f"{place!r} is not of the form package.module:object.")
    module, _, path = place.partition(":")
    try:
        found: object = importlib.import_module(module)
        for word in path.split("."):
            found = getattr(found, word)
    except Exception as error:  # noqa: BLE001  # somebody else's module may fail in any way
        raise InputError(f"{place!r} cannot be loaded: {error}.") from None
    return found
