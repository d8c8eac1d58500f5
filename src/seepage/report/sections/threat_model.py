"""The threat model: who attacks, and what was really handed to the attack."""

from __future__ import annotations

from dataclasses import dataclass

from seepage.report.section import Section
from seepage.results.summary import Summary

_HEADINGS = {
    "adversary": "Who attacks",
    "sees": "What they see",
    "knows": "What they know already",
    "does_not_know": "What they do not know",
}


@dataclass(frozen=True)
class Listing:
    """A heading and its sentences."""

    heading: str
    sentences: tuple[str, ...]


@dataclass(frozen=True)
class ThreatModelView:
    """Its four parts."""

    parts: tuple[Listing, ...]


def threat_model(summary: Summary) -> ThreatModelView:
    """The parts, each with its heading."""
    model = summary.threat_model
    return ThreatModelView(tuple(Listing(heading, getattr(model, name)) for name, heading in _HEADINGS.items()))


SECTION = Section(
    name="threat_model", title="Threat model", short="Threat model", studies=(Summary,), place=80, view=threat_model
)
