"""What a file says of privacy, as it stands there: data, with its line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

Value = float | int | bool | str | tuple[float, ...] | None


@dataclass(frozen=True, kw_only=True)
class Unclear:
    """A value that cannot be known without running the file.

    Args:
        text: the words in the file.
        line: where they stand.
        why: in a few words.
    """

    text: str
    line: int
    why: str = "it is computed while the program runs"


@dataclass(frozen=True, kw_only=True)
class Said:
    """One thing in a file that is about privacy: a call, a filter, a section.

    Args:
        kind: which it is, for the checks: ``make_private``, ``LocalDpMod``, ``SVTPrivacy``, ``dp``.
        framework: whose it is.
        file: the file's name.
        line: where it begins; 0 if the format has no lines to tell.
        values: its arguments as far as they can be known, defaults included.
        unclear: the others.
        assumed: arguments that hold unless somebody types something else, with a sentence why.
        ignored: arguments that the framework takes without a word and never uses.
        given: the arguments that stand in the file; the others of ``values`` are defaults.
    """

    kind: str
    framework: str
    file: str
    line: int = 0
    values: Mapping[str, Value] = field(default_factory=dict)
    unclear: Mapping[str, Unclear] = field(default_factory=dict)
    assumed: Mapping[str, str] = field(default_factory=dict)
    ignored: tuple[str, ...] = ()
    given: frozenset[str] = frozenset()

    @property
    def place(self) -> str:
        """``client.py, line 12``."""
        return f"{self.file}, line {self.line}" if self.line else self.file


@dataclass(frozen=True, kw_only=True)
class Fact:
    """Something a file says of the federation: its rounds, its batch size.

    Args:
        name: as the options are called: ``rounds``.
        value: what it is.
        place: where it stands.
    """

    name: str
    value: float | int
    place: str


@dataclass(frozen=True, kw_only=True)
class Source:
    """What was read of one file.

    Args:
        file: its name.
        said: what is about privacy.
        facts: what else it says that accounting needs.
        seen: names that it calls or mentions, for findings about what stands beside a mechanism.
    """

    file: str
    said: tuple[Said, ...] = ()
    facts: tuple[Fact, ...] = ()
    seen: frozenset[str] = frozenset()
