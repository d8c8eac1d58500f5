"""Our number beside a paper's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from seepage.reproductions.published import Published
from seepage.results import bootstrap


@dataclass(frozen=True, kw_only=True)
class Line:
    """One cell of a table.

    Args:
        cell: what was run.
        metric: what was measured.
        ours: the mean over trials.
        low, high: its interval at 95 %, where there is more than one trial.
        trials: how many.
        published: the paper's number, where it has one.
        spread: its standard deviation, where it has one.
        note: what differs.
    """

    table: str
    cell: str
    metric: str
    ours: float
    low: float | None = None
    high: float | None = None
    trials: int = 1
    published: float | None = None
    spread: float | None = None
    note: str = ""

    @property
    def deviations(self) -> float | None:
        """Our distance to the paper in its standard deviations."""
        if self.published is None or not self.spread:
            return None
        return (self.ours - self.published) / self.spread


def line(
    table: str, cell: str, metric: str, values: Sequence[float], beside: Published | None, *, note: str = ""
) -> Line:
    """A cell from its trials."""
    interval = bootstrap(list(values)) if len(values) > 1 else None
    return Line(
        table=table,
        cell=cell,
        metric=metric,
        ours=sum(values) / len(values),
        low=None if interval is None else interval.low,
        high=None if interval is None else interval.high,
        trials=len(values),
        published=None if beside is None else beside.value,
        spread=None if beside is None else beside.spread,
        note=note,
    )
