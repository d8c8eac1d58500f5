"""A part: something that a user can ask for in a word."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Part:
    """Something that can be named.

    Args:
        name: in a spec.
        make: how it is made.
        about: one line about it.
        works_on: studies in which it can be named.
        needs: what an attack must know.
        paper: where it comes from.
        joins_rounds: whether an attack reads several rounds of a client as one, where it is given them.
        main: the option that a bare value of a spec sets: ``top_k:0.1``.
        origin: the package that brings it; ours if empty.
    """

    name: str
    make: Callable[[], Any]
    about: str
    works_on: tuple[str, ...]
    needs: str = ""
    paper: str = ""
    joins_rounds: bool = False
    main: str = ""
    origin: str = ""
