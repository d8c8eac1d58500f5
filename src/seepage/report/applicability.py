"""Which attacks can work on each choice, as the audit counted it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from seepage.report import words

MANY = 2  # reasons of more choices than this are folded away; the table of verdicts stays
_CHOICE = ("dataset", "protocol", "model", "batch_size", "defense", "variant")
# What works for an attacker is bad news. What cannot work is grey, not green: it is no proof of privacy.
_BADGES = {"works": "leaks", "partly": "some"}


@dataclass(frozen=True)
class Part:
    """One part of the attacks on one choice."""

    what: str
    verdict: str
    badge: str
    why: str


@dataclass(frozen=True)
class Possibility:
    """What can be done to one choice."""

    label: str
    behind: str
    parts: tuple[Part, ...]
    stops: str


@dataclass(frozen=True)
class Applicability:
    """All choices: an overview of verdicts, and the reasons choice by choice."""

    parts: tuple[str, ...]
    choices: tuple[Possibility, ...]

    @property
    def folded(self) -> bool:
        """Whether the reasons are hidden until somebody asks for them."""
        return len(self.choices) > MANY


def gather_applicability(entries: Sequence[Mapping[str, Any]]) -> Applicability | None:
    """What the summary says can work; None if it says nothing."""
    if not entries:
        return None
    varying = [name for name in _CHOICE if len({entry.get(name, "") for entry in entries}) > 1]
    shown = [name for name in _CHOICE if name in varying or name in ("model", "batch_size")]
    choices = tuple(
        Possibility(
            label=words.joined(words.said(name, entry.get(name, "")) for name in shown),
            behind=f"{words.plural(entry['rows'], 'row')} and {words.plural(entry['steps'], 'local step')}",
            parts=tuple(_part(finding) for finding in entry["findings"]),
            stops=str(entry["stops"]),
        )
        for entry in entries
    )
    return Applicability(tuple(part.what for part in choices[0].parts), choices)


def _part(finding: Mapping[str, Any]) -> Part:
    verdict = str(finding["verdict"])
    return Part(str(finding["what"]), verdict, _BADGES.get(verdict, ""), str(finding["why"]))
