"""One tested setting, for tests that need numbers of their own choosing."""

from __future__ import annotations

from seepage.report.leaks import Leak
from seepage.results import Interval, coordinates
from seepage.results.rows import RowsResult
from tests.report.example import a_cell


def a_leak(**changes: object) -> Leak:
    """54 of 80 rows, 90 % of cells, where guessing gets 56 %; ``changes`` are fields of the result."""
    usual: dict[str, object] = {
        **coordinates(a_cell()),
        "id": a_cell().id,
        "trials": 10,
        "outcome": "ok",
        "outcomes": {"ok": 10},
        "rows": 80,
        "rows_exact": 54,
        "rows_near": 54,
        "metrics": {
            "accuracy": Interval(0.9, 0.88, 0.92),
            "exact": Interval(0.675, 0.6, 0.75),
            "emr": Interval(0.675, 0.6, 0.75),
        },
        "baselines": {"prior": Interval(0.56, 0.5, 0.6), "uniform": Interval(0.2, 0.1, 0.3), "marginal": None},
        "gain": {"prior": Interval(0.34, 0.3, 0.4), "uniform": Interval(0.7, 0.6, 0.8), "marginal": None},
        "emr_gain": {"prior": Interval(0.67, 0.6, 0.7), "uniform": Interval(0.67, 0.6, 0.7), "marginal": None},
    }
    if "rows_exact" in changes:
        usual["rows_near"] = changes["rows_exact"]
    result = RowsResult.model_validate(usual | changes)
    return Leak(number=1, label="batch 8", place=result.place, result=result)
