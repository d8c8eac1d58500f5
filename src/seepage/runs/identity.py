"""What a process is: its versions, its forms, its code. Workers that differ would mix two kinds of numbers."""

from __future__ import annotations

import hashlib
import platform
import warnings
from collections.abc import Mapping
from functools import cache
from importlib.metadata import version
from pathlib import Path

from pydantic import JsonValue

import seepage
from seepage.results.store import STORE_VERSION
from seepage.results.summary import SCHEMA_VERSION

PACKAGES = ("seepage", "torch", "numpy", "polars", "scikit-learn")


@cache
def versions() -> dict[str, str]:
    """What this runs on."""
    return {name: version(name) for name in PACKAGES} | {"python": platform.python_version()}


@cache
def identity() -> dict[str, str]:
    """What must be equal in everyone who works on a run. Two checkouts of one version differ in their code."""
    forms = {"stored form": str(STORE_VERSION), "summary form": str(SCHEMA_VERSION)}
    return versions() | forms | {"code of Seepage": _code()}


def _code() -> str:
    """A digest of the package's own files."""
    root = Path(seepage.__file__).parent
    seen = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        seen.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return seen.hexdigest()[:12]


def told_if_others(head: Mapping[str, JsonValue]) -> None:
    """Warn if a run that is gone on with was begun on other versions.

    It goes on all the same: each task says what it ran on, and the summary and the report say that there were several.
    """
    begun = head.get("versions")
    known = {name: str(value) for name, value in begun.items()} if isinstance(begun, dict) else {}
    if known and (found := differences({name: value for name, value in versions().items() if name in known}, known)):
        warnings.warn(
            f"This run was begun with {found}. What is finished is kept; the rest is computed on the versions of now, "
            "and the report says so. For numbers of one kind, repeat the run with another --out.",
            stacklevel=2,
        )


def differences(ours: Mapping[str, str], theirs: Mapping[str, str]) -> str:
    """What differs, as a phrase: ``torch 2.5.0 and not 2.6.0``; empty if nothing does.

    Example:
        >>> differences({"torch": "2.6.0", "numpy": "2.1"}, {"torch": "2.5.0", "numpy": "2.1"})
        'torch 2.5.0 and not 2.6.0'
    """
    return ", ".join(
        f"{name} {theirs.get(name, 'missing')} and not {value}"
        for name, value in ours.items()
        if theirs.get(name) != value
    )
