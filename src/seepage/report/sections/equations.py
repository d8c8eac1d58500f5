"""Vertical learning, explained: how the server separates rows, and how far it got."""

from __future__ import annotations

from dataclasses import dataclass

from seepage.report import words
from seepage.report.leaks import leaks_of
from seepage.report.section import Section
from seepage.results.vertical import VerticalResult, VerticalSummary


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How far one attack got in one setting."""

    number: int
    label: str
    people: int
    batches: int
    determined: float | None
    psnr: float | None
    seconds: float
    note: str


@dataclass(frozen=True)
class Equations:
    """All settings, and what the number of batches means for them."""

    readings: tuple[Reading, ...]
    sentences: tuple[str, ...]


def equations(summary: VerticalSummary) -> Equations | None:
    """How far the equations got; nothing if no setting was tested."""
    if not summary.cells:
        return None
    readings = tuple(
        Reading(
            number=leak.number,
            label=leak.label,
            people=cell.people,
            batches=cell.batches,
            determined=_mean(cell, "determined"),
            psnr=_mean(cell, "psnr"),
            seconds=cell.seconds,
            note=" ".join(cell.notes),
        )
        for leak, cell in zip(leaks_of(summary), summary.cells, strict=True)
    )
    pairs = dict.fromkeys((reading.people, reading.batches) for reading in readings)
    return Equations(readings, tuple(_sentence(*pair) for pair in pairs))


def _sentence(people: int, batches: int) -> str:
    seen = f"The server saw {words.plural(batches, 'batch', 'batches')} of {words.count(people)} aligned rows. "
    if batches < people:
        return seen + (
            "That is fewer than there are rows, so the sums alone leave rows open. It protects nobody: what the "
            "batches of a row have in common needs only the few batches that held it."
        )
    return seen + "That is at least one batch for each row, which is what the sums need while weights are fixed."


def _mean(cell: VerticalResult, metric: str) -> float | None:
    value = cell.metrics.get(metric)
    return value.mean if value else None


SECTION: Section[VerticalSummary] = Section(
    name="equations",
    title="How a server reads rows in vertical learning",
    short="How rows are read",
    studies=(VerticalSummary,),
    place=30,
    view=equations,
)
