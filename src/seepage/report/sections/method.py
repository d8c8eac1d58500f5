"""How the numbers about rows are made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from seepage.report.leaks import ReadRows, with_truth
from seepage.report.section import Section
from seepage.report.settings import values_of
from seepage.results.rows import RowsSummary
from seepage.results.updates import UpdatesSummary
from seepage.results.vertical import VerticalSummary

_DEVIATIONS = {
    "client": "of the client's own standard deviations",
    "global": "of the whole data set's standard deviations",
}


_MATCHINGS = {
    "l1": "the least total distance",
    "cells": "the most right cells, as TabLeak does",
    "study": "the least total distance of the attack's own variables, as the profiling study does",
}


@dataclass(frozen=True)
class Method:
    """What differs between runs in how numbers are made."""

    deviation: str
    matching: str
    vertical: bool
    one_federation: bool = False


def method(summary: ReadRows) -> Method:
    """How the numbers of this run are made."""
    vertical = isinstance(summary, VerticalSummary)
    own = "of these rows' standard deviations"
    deviation = own if vertical else _in_words(summary, "deviation", _DEVIATIONS, "standard deviations")
    matching = _in_words(summary, "matching", _MATCHINGS, _MATCHINGS["l1"])
    return Method(deviation, matching, vertical, not vertical and any(cell.federations == 1 for cell in summary.cells))


def _in_words(summary: ReadRows, setting: str, words: Mapping[str, str], otherwise: str) -> str:
    """A setting in words; a plan may try several values."""
    chosen: Sequence[JsonValue] = values_of(summary, setting)
    first, *others = [words.get(str(name), otherwise) for name in chosen] or [otherwise]
    return f"{first} (in some settings: {' or '.join(others)})" if others else first


SECTION: Section[ReadRows] = Section(
    name="method",
    title="How the numbers are made",
    short="Method",
    studies=(RowsSummary, VerticalSummary, UpdatesSummary),
    place=90,
    view=with_truth(method),
)
