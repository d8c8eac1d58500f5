"""What is right, and how many cells there are, for each range of the attacker's own doubt."""

from __future__ import annotations

from collections.abc import Iterator

from seepage.reproductions.plan_result import PlanResult
from seepage.reproductions.readings.grouping import together
from seepage.reproductions.stored import Comparison
from seepage.results import Interval
from seepage.results.row_numbers import DoubtNumbers, RowNumbers

_SHORT = {"categorical": "cat", "numeric": "num"}
LOWEST = 0.72  # TabLeak has one range of numbers below it; we have several


def read_doubt(result: PlanResult) -> Iterator[Comparison]:
    """Two comparisons for each range: how much of it is right, and its share of all cells."""
    for cell in result.cells:
        if not isinstance(cell, RowNumbers):
            continue
        for kind, short in _SHORT.items():
            entries = [entry for entry in cell.doubt if entry.kind == kind and entry.attack is not None]
            total = sum(entry.cells for entry in entries)
            for same in together(entries, range_of):
                count = sum(entry.cells for entry in same)
                right = sum(entry.attack.mean * entry.cells for entry in same if entry.attack is not None) / count
                told = {"entropy_bucket": range_of(same[0])}
                place = result.place(cell) | {"kind": kind, "doubt": range_of(same[0])}
                for metric, value in ((f"accuracy_{short}", right), (f"data_share_{short}", count / total)):
                    beside = result.beside(cell, metric, told=told)
                    yield result.compare(cell, metric, Interval(value, None, None), beside, place=place)


def range_of(entry: DoubtNumbers) -> str:
    """A range as the paper prints it."""
    if entry.kind == "categorical":
        return f"{entry.low:.1f}:{entry.high:.1f}"
    if entry.high is not None and entry.high <= LOWEST:
        return f"-inf:{LOWEST}"
    return f"{entry.low:g}:{'inf' if entry.high is None else format(entry.high, 'g')}"
