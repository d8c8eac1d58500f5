"""What is right, and how many cells there are, for each range of the attacker's own doubt."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from seepage.reproductions.plan_result import PlanResult
from seepage.reproductions.readings.grouping import together
from seepage.reproductions.stored import Comparison
from seepage.results import Interval
from seepage.results.row_numbers import DoubtNumbers, RowNumbers

_SHORT = {"categorical": "cat", "numeric": "num"}
LOWEST = 0.72  # TabLeak has one range of numbers below it; we have several


def read_doubt(result: PlanResult) -> Iterator[Comparison]:
    """Two comparisons for each range: how much of it is right, and its share of all cells.

    The paper's tables are of one batch, ours are the mean of all: the interval is where one batch more would lie.
    """
    for cell in result.cells:
        if not isinstance(cell, RowNumbers):
            continue
        batches = cell.trials - cell.failed
        for kind, short in _SHORT.items():
            entries = [entry for entry in cell.doubt if entry.kind == kind]
            for same in together(entries, range_of):
                told = {"entropy_bucket": range_of(same[0])}
                place = result.place(cell) | {"kind": kind, "doubt": range_of(same[0])}
                for metric, value in ((f"accuracy_{short}", _right(same)), (f"data_share_{short}", _share(same))):
                    beside = result.beside(cell, metric, told=told)
                    number = None if value is None else one_more(value, batches)
                    yield result.compare(cell, metric, number, beside, place=place)


def one_more(mean: Interval, batches: int) -> Interval:
    """Where one batch more would lie, from the interval of the mean of so many; within 0 and 1.

    A mean of n differs from the truth by s / sqrt(n), one more batch from the mean by s sqrt(1 + 1/n): the interval
    grows by sqrt(n + 1).
    """
    if mean.low is None or mean.high is None:
        return mean
    times = math.sqrt(batches + 1)
    low, high = (mean.mean + times * (end - mean.mean) for end in (mean.low, mean.high))
    return Interval(mean.mean, max(low, 0.0), min(high, 1.0))


def _right(same: Sequence[DoubtNumbers]) -> Interval | None:
    """How much is right in ranges that the paper has as one."""
    known = [(entry.attack, entry.cells) for entry in same if entry.attack is not None]
    if len(known) < 2:
        return known[0][0] if known else None
    return Interval(sum(one.mean * cells for one, cells in known) / sum(cells for _, cells in known), None, None)


def _share(same: Sequence[DoubtNumbers]) -> Interval | None:
    known = [entry.share for entry in same if entry.share is not None]
    if len(known) < 2:
        return known[0] if known else None
    return Interval(sum(one.mean for one in known), None, None)


def range_of(entry: DoubtNumbers) -> str:
    """A range as the paper prints it."""
    if entry.kind == "categorical":
        return f"{entry.low:.1f}:{entry.high:.1f}"
    if entry.high is not None and entry.high <= LOWEST:
        return f"-inf:{LOWEST}"
    return f"{entry.low:g}:{'inf' if entry.high is None else format(entry.high, 'g')}"
