"""Absent guests: the cache beside zeros, and both beside a run without failures.

TabVFL's Table III has percentages of a difference of F1, and does not say of what. Its columns agree with each other if
every difference is divided by the method's own F1: the largest improvement is then 4.35, 9.50, 2.01, 13.16 and 12.73 %
by the two columns of largest losses, and printed are 4.37, 9.49, 2.04, 13.16 and 12.73 %. As points of F1, or divided
by the F1 without failures, forest would need 15.48 and air 15.03.
"""

from __future__ import annotations

from collections.abc import Iterator

from seepage.reproductions.plan_result import PlanResult
from seepage.reproductions.readings.grouping import together
from seepage.reproductions.stored import Comparison
from seepage.results import Interval
from seepage.results.training import TrainingResult

F1 = ("quality/published/mean", "f1")


def read_failures(result: PlanResult) -> Iterator[Comparison]:
    """Four relative differences of F1 for each data set; one that cannot be worked out has no number."""
    cells = [cell for cell in result.cells if isinstance(cell, TrainingResult)]
    for same in together(cells, lambda cell: cell.dataset):
        quality = {(cell.failure_method, cell.failure_probability): cell.mean(*F1) for cell in same}
        chances = sorted({chance for _, chance in quality if chance})
        cache, zeros = ([quality.get((method, chance)) for chance in chances] for method in ("cache", "zeros"))
        gains = [
            (one - other) / one
            for one, other in zip(cache, zeros, strict=True)
            if one is not None and other is not None
        ]
        present = quality.get(("none", 0.0))
        numbers = {
            ("TabVFL cache minus zeros", "f1_improvement_mean"): sum(gains) / len(gains) if gains else None,
            ("TabVFL cache minus zeros", "f1_improvement_max"): max(gains, default=None),
            ("TabVFL zeros", "f1_change_worst"): _worst(zeros, present),
            ("TabVFL cache", "f1_change_worst"): _worst(cache, present),
        }
        for (method, metric), value in numbers.items():
            place = {"data": result.place(same[0])["data"], "method": method}
            number = None if value is None else Interval(value, None, None)
            beside = result.beside(same[0], metric, method=method)
            yield result.compare(same[0], metric, number, beside, place=place)


def _worst(values: list[float | None], present: float | None) -> float | None:
    known = [value for value in values if value is not None]
    return 1 - present / min(known) if known and present is not None else None
