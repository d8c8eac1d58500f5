"""Which attacks can work on each choice, as the audit counted it."""

from __future__ import annotations

from dataclasses import dataclass

from seepage.report import words
from seepage.report.section import Section
from seepage.results.rows import Applicability, PartVerdict, RowsSummary
from seepage.results.updates import UpdatesSummary

MANY = 2  # reasons of more choices than this are folded away; the table of verdicts stays
_CHOICE = ("dataset", "protocol", "model", "batch_size", "defense", "variant")
# What works for an attacker is bad news. What cannot work is grey, not green: it is no proof of privacy.
_BADGES = {"works": "leaks", "partly": "some"}


@dataclass(frozen=True)
class Possibility:
    """What can be done to one choice."""

    label: str
    behind: str
    parts: tuple[PartVerdict, ...]
    stops: str


@dataclass(frozen=True)
class Possibilities:
    """All choices: an overview of verdicts, and the reasons choice by choice."""

    parts: tuple[str, ...]
    choices: tuple[Possibility, ...]

    @property
    def folded(self) -> bool:
        """Whether the reasons are hidden until somebody asks for them."""
        return len(self.choices) > MANY

    def badge(self, part: PartVerdict) -> str:
        """The colour of a verdict."""
        return _BADGES.get(part.verdict, "")


def applicability(summary: RowsSummary | UpdatesSummary) -> Possibilities | None:
    """What the summary says can work; None if it says nothing."""
    entries = summary.applicability
    if not entries:
        return None
    places = [{name: getattr(entry, name) for name in _CHOICE} for entry in entries]
    names = words.varying(places, always=("model", "batch_size"))
    choices = tuple(
        Possibility(words.label(place, names), _behind(entry), entry.findings, entry.stops)
        for place, entry in zip(places, entries, strict=True)
    )
    return Possibilities(tuple(part.what for part in choices[0].parts), choices)


def _behind(entry: Applicability) -> str:
    return f"{words.plural(entry.rows, 'row')} and {words.plural(entry.steps, 'local step')}"


SECTION: Section[RowsSummary | UpdatesSummary] = Section(
    name="applicability",
    title="Which attacks can work here, and why",
    short="What can work",
    studies=(RowsSummary, UpdatesSummary),
    place=55,
    view=applicability,
)
