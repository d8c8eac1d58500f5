"""Cells and records as CSV, for people who have their own tools."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import polars as pl

from seepage._core import InputError
from seepage.results.interval import Interval
from seepage.results.reading import check_form, read_summary
from seepage.results.row_numbers import RowNumbers
from seepage.results.store import Run
from seepage.results.summary import Result

What = Literal["cells", "columns", "records"]
Line = dict[str, str | int | float | bool | None]


def export(run: Run, target: Path, what: What = "cells") -> int:
    """Write a CSV; returns how many lines it has.

    Args:
        what: ``cells`` (one line each, with intervals of all metrics), ``columns`` (one line for each column of each
            cell) or ``records`` (every number of every trial).
    """
    if target.exists():
        raise InputError(f"{target} exists already; choose another name or remove it.")
    check_form(run)
    frame = _records(run) if what == "records" else pl.DataFrame(list(_lines(run, what)), infer_schema_length=None)
    try:
        with target.open("xb") as stream:
            frame.write_csv(stream)
    except OSError as error:
        if target.is_file():  # half of it is worse than nothing
            target.unlink()
        raise InputError(f"{target} cannot be written: {error.strerror or error}.") from None
    return frame.height


def _records(run: Run) -> pl.DataFrame:
    if not any((run.path / "records").glob("*.parquet")):
        raise InputError(f"The run {run.path} holds no records.")
    return run.frame().collect()


def _lines(run: Run, what: What) -> Iterator[Line]:
    summary = read_summary(run)
    for cell in summary.cells:
        if what == "cells":
            yield _cell(cell)
        elif isinstance(cell, RowNumbers):
            yield from _columns(cell)
        else:
            raise InputError(f"The study {summary.study} has no columns; export its cells or records.")


def _cell(cell: Result) -> Line:
    line: Line = dict(cell.place)
    line |= {name: getattr(cell, name) for name in ("id", "trials", "failed", "outcome", "seconds")}
    if isinstance(cell, RowNumbers):
        names = ("exposure", "rows", "rows_exact", "rows_certified", "rows_guessed")
        line |= {name: getattr(cell, name) for name in names}
    for name, interval in cell.metrics.items():
        line |= _ends(name, interval)
    for name, interval in (cell.gain if isinstance(cell, RowNumbers) else {}).items():
        line |= _ends(f"gain_over_{name}", interval)
    return line


def _columns(cell: RowNumbers) -> Iterator[Line]:
    for column in cell.columns:
        line: Line = dict(cell.place)
        line |= {"column": column.name, "kind": column.kind, "sensitive": column.sensitive}
        yield line | _ends("attack", column.attack) | _ends("prior", column.prior)


def _ends(name: str, interval: Interval | None) -> Line:
    if interval is None:
        return dict.fromkeys((name, f"{name}_low", f"{name}_high"))
    return {name: interval.mean, f"{name}_low": interval.low, f"{name}_high": interval.high}
