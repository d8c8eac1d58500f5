"""A summary as frames (polars): one line for each cell, for each column of each cell, for each revealed row."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl
from pydantic import JsonValue

from seepage._core import InputError
from seepage.results.interval import Interval
from seepage.results.result import Result
from seepage.results.row_numbers import RowNumbers
from seepage.results.rows import RevealedRow
from seepage.results.summary import HEADLINE, Summary

Line = dict[str, str | int | float | bool | None]
_COUNTED = ("exposure", "rows", "rows_exact", "rows_near", "rows_certified", "rows_guessed", "rows_guessed_near")


def headline_frame(summary: Summary) -> pl.DataFrame:
    """Every cell with the numbers that its study is about."""
    return _frame(_headline(summary.study, cell) for cell in summary.cells)


def cells_frame(summary: Summary) -> pl.DataFrame:
    """Every cell with all its numbers and their intervals."""
    return _frame(_cell(cell) for cell in summary.cells)


def columns_frame(summary: Summary) -> pl.DataFrame:
    """Every column of every cell: what was read of it, and what guessing gets."""
    if not issubclass(_result_of(summary), RowNumbers):
        raise InputError(f"The study {summary.study} has no columns; take its cells or records.")
    return _frame(line for cell in summary.cells if isinstance(cell, RowNumbers) for line in _columns(cell))


def revealed_frame(summary: Summary) -> pl.DataFrame:
    """The revealed rows: every column as it is (``true.age``) and as it was read (``read.age``)."""
    rows: tuple[RevealedRow, ...] | None = getattr(summary, "revealed", None)
    if rows is None:
        raise InputError(f"The study {summary.study} reads no rows, so none can be shown.")
    if not rows:
        raise InputError("No row was revealed in this run; run it with reveal=True (--reveal). Rows are private.")
    lines: list[dict[str, JsonValue]] = []
    for number, row in enumerate(rows):
        line: dict[str, JsonValue] = {"cell": row.cell, "client": row.client, "row": number}
        for name, value in row.truth.items():
            line |= {f"true.{name}": value, f"read.{name}": row.reconstruction.get(name)}
        lines.append(line)
    return pl.DataFrame(lines, infer_schema_length=None, strict=False)


def _result_of(summary: Summary) -> type:
    """The class of a study's cells, also where there is none yet."""
    annotation = type(summary).model_fields["cells"].annotation
    return annotation.__args__[0]  # type: ignore[union-attr,no-any-return]  # a tuple of them


def _frame(lines: Iterator[Line]) -> pl.DataFrame:
    return pl.DataFrame(list(lines), infer_schema_length=None)


def _headline(study: str, cell: Result) -> Line:
    line: Line = dict(cell.place)
    for name in HEADLINE[study]:
        line |= _ends(name, number_of(cell, name))
    if isinstance(cell, RowNumbers):
        line |= _ends("best_guess", cell.best_guess[1])
        line |= {"rows": cell.rows, "rows_exact": cell.rows_exact, "rows_near": cell.rows_near}
    return line | {name: getattr(cell, name) for name in ("trials", "failed", "outcome")}


def number_of(cell: Result, name: str) -> Interval | None:
    """A metric of a cell, or what a gate judges by that name."""
    return cell.metrics[name] if name in cell.metrics else cell.judged.get(name)


def _cell(cell: Result) -> Line:
    line: Line = dict(cell.place)
    line |= {name: getattr(cell, name) for name in ("id", "trials", "failed", "outcome", "seconds")}
    if isinstance(cell, RowNumbers):
        line |= {name: getattr(cell, name) for name in _COUNTED}
    for name, interval in cell.metrics.items():
        line |= _ends(name, interval)
    for name, interval in (cell.gain if isinstance(cell, RowNumbers) else {}).items():
        line |= _ends(f"gain_over_{name}", interval)
    return line


def _columns(cell: RowNumbers) -> Iterator[Line]:
    for column in cell.columns:
        line: Line = dict(cell.place)
        line |= {"column": column.name, "kind": column.kind, "sensitive": column.sensitive}
        # Not "attack", which is the name of the attack.
        yield line | _ends("read", column.attack) | _ends("prior", column.prior)


def _ends(name: str, interval: Interval | None) -> Line:
    if interval is None:
        return dict.fromkeys((name, f"{name}_low", f"{name}_high"))
    return {name: interval.mean, f"{name}_low": interval.low, f"{name}_high": interval.high}
