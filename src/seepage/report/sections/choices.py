"""Which settings are safer: choices from the least to the most leaking."""

from __future__ import annotations

from dataclasses import dataclass

from seepage.report.choices import ChoiceVerdict, choices_of
from seepage.report.leaks import ReadRows, leaks_of
from seepage.report.section import Section
from seepage.results.rows import RowsSummary
from seepage.results.vertical import VerticalSummary


@dataclass(frozen=True)
class Choices:
    """All choices; one alone cannot be compared."""

    every: tuple[ChoiceVerdict, ...]


def choices(summary: ReadRows) -> Choices | None:
    """The choices; nothing if no setting was tested."""
    return Choices(choices_of(leaks_of(summary))) if summary.cells else None


SECTION: Section[ReadRows] = Section(
    name="choices",
    title="Which settings are safer",
    short="Safer settings",
    studies=(RowsSummary, VerticalSummary),
    place=60,
    view=choices,
)
