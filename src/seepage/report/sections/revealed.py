"""True rows beside what the attack made of them: private, and only where ``--reveal`` asked for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from seepage.report.leaks import ReadRows, leaks_of
from seepage.report.pictures import drawn_picture, is_picture
from seepage.report.section import Section
from seepage.report.words import NOTHING
from seepage.results.rows import RevealedRow, RowsSummary
from seepage.results.updates import UpdatesSummary
from seepage.results.vertical import VerticalSummary

LIMIT = 100


@dataclass(frozen=True)
class RowPair:
    """A true row beside its reconstruction."""

    label: str
    cells: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True)
class PicturePair:
    """A true picture beside what was read of it, as images inside the page."""

    truth: str
    reconstruction: str


@dataclass(frozen=True, kw_only=True)
class Revealed:
    """What is shown; pictures by their setting."""

    rows: tuple[RowPair, ...]
    pictures: dict[str, tuple[PicturePair, ...]]
    left_out: int


def revealed(summary: ReadRows) -> Revealed | None:
    """The rows that may be shown; nothing without ``--reveal``."""
    if not summary.revealed:
        return None
    labels = {leak.result.id: leak.label for leak in leaks_of(summary)}
    rows = [row for row in summary.revealed if not is_picture(row.truth)]
    drawn: dict[str, list[PicturePair]] = {}
    for row in summary.revealed:
        if is_picture(row.truth):
            pair = PicturePair(drawn_picture(row.truth), drawn_picture(row.reconstruction))
            drawn.setdefault(labels.get(row.cell, row.cell), []).append(pair)
    return Revealed(
        rows=_pairs(rows[:LIMIT], labels, people=isinstance(summary, VerticalSummary)),
        pictures={label: tuple(pairs) for label, pairs in drawn.items()},
        left_out=max(len(rows) - LIMIT, 0),
    )


def _pairs(rows: Sequence[RevealedRow], labels: dict[str, str], *, people: bool) -> tuple[RowPair, ...]:
    pairs = []
    for row in rows:
        label = labels.get(row.cell, row.cell)
        names = dict.fromkeys([*row.truth, *row.reconstruction])
        cells = ((name, _shown(row.truth.get(name)), _shown(row.reconstruction.get(name))) for name in names)
        pairs.append(RowPair(label if people else f"client {row.client}, {label}", tuple(cells)))
    return tuple(pairs)


def _shown(value: JsonValue) -> str:
    return NOTHING if value is None else str(value)


SECTION: Section[ReadRows] = Section(
    name="revealed",
    title="Revealed rows",
    short="Revealed rows",
    studies=(RowsSummary, VerticalSummary, UpdatesSummary),
    place=98,
    view=revealed,
    warning="This file holds private rows. It was written with --reveal. Do not share it; delete it when you are done.",
)
