"""Cells and records as CSV, for people who have their own tools."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import polars as pl

from seepage._core import InputError
from seepage.results.compare import COORDINATES
from seepage.results.store import Run

What = Literal["cells", "columns", "records"]
_FACTS = (
    "id",
    "trials",
    "failed",
    "outcome",
    "exposure",
    "rows",
    "rows_exact",
    "rows_certified",
    "rows_guessed",
    "seconds",
)


def export(run: Run, target: Path, what: What = "cells") -> int:
    """Write a CSV; returns how many lines it has.

    Args:
        what: ``cells`` (one line each, with intervals of all metrics), ``columns`` (one line for each column of each
            cell) or ``records`` (every number of every attacked batch).
    """
    if target.exists():
        raise InputError(f"{target} exists already; choose another name or remove it.")
    if what == "records":
        frame = _records(run)
    else:
        cells = run.summary().cells
        lines = (
            [_cell(cell) for cell in cells] if what == "cells" else [line for cell in cells for line in _columns(cell)]
        )
        frame = pl.DataFrame(lines, infer_schema_length=None)
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
        raise InputError(f"The run {run.path} holds no records of attacks.")
    return run.frame().collect()


def _place(cell: dict[str, Any]) -> dict[str, Any]:
    return {name: cell.get(name, "") for name in COORDINATES}


def _cell(cell: dict[str, Any]) -> dict[str, Any]:
    line = _place(cell) | {name: cell.get(name) for name in _FACTS}
    for name, interval in cell["metrics"].items():
        line |= _ends(name, interval)
    for name, interval in cell["gain"].items():
        line |= _ends(f"gain_over_{name}", interval)
    return line


def _columns(cell: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        _place(cell)
        | {"column": column["name"], "kind": column["kind"], "sensitive": column["sensitive"]}
        | _ends("attack", column.get("attack"))
        | _ends("prior", column.get("prior"))
        for column in cell["columns"]
    ]


def _ends(name: str, interval: dict[str, float | None] | None) -> dict[str, float | None]:
    known = interval or {"mean": None, "low": None, "high": None}
    return {name: known["mean"], f"{name}_low": known["low"], f"{name}_high": known["high"]}
