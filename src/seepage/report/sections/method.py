"""How the numbers about rows are made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from seepage.report.leaks import ReadRows
from seepage.report.section import Section
from seepage.report.settings import values_of
from seepage.results.rows import RowsSummary
from seepage.results.vertical import VerticalSummary

_DEVIATIONS = {
    "client": "of the client's own standard deviations",
    "global": "of the whole data set's standard deviations",
}


@dataclass(frozen=True)
class Method:
    """What differs between runs in how numbers are made."""

    deviation: str
    vertical: bool


def method(summary: ReadRows) -> Method:
    """How the numbers of this run are made."""
    vertical = isinstance(summary, VerticalSummary)
    return Method("of these people's standard deviations" if vertical else _deviation(summary), vertical)


def _deviation(summary: ReadRows) -> str:
    """What numeric cells are measured against; a plan may try several."""
    chosen: Sequence[JsonValue] = values_of(summary, "deviation")
    first, *others = [_DEVIATIONS.get(str(name), "standard deviations") for name in chosen] or ["standard deviations"]
    return f"{first} (in some settings: {' or '.join(others)})" if others else first


SECTION: Section[ReadRows] = Section(
    name="method",
    title="How the numbers are made",
    short="Method",
    studies=(RowsSummary, VerticalSummary),
    place=90,
    view=method,
)
