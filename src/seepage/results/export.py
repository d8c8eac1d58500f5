"""Cells and records as CSV, for people who have their own tools."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

import polars as pl

from seepage._core import InputError
from seepage._core.files import write_new
from seepage.results.frames import cells_frame, columns_frame
from seepage.results.reading import check_form, read_summary
from seepage.results.store import Run

What = Literal["cells", "columns", "records"]
FORMULA = r"^[=+\-@\t\r]"  # with these a spreadsheet takes a text for something to compute


def export(run: Run, target: Path, what: What = "cells") -> int:
    """Write a CSV; returns how many lines it has.

    Args:
        what: ``cells`` (one line each, with intervals of all metrics), ``columns`` (one line for each column of each
            cell) or ``records`` (every number of every trial).

    Guarantees:
        No text is a formula to a spreadsheet: names of columns and tables are other people's words, and one that begins
        with ``=``, ``+``, ``-``, ``@``, a tab or a return gets an apostrophe before it. Numbers stay numbers.
    """
    if target.exists():
        raise InputError(f"{target} exists already; choose another name or remove it.")
    check_form(run)
    frame = _records(run) if what == "records" else _summarised(run, what)
    write_new(target, as_text(frame).write_csv())
    return frame.height


def as_text(frame: pl.DataFrame) -> pl.DataFrame:
    """A frame whose texts and headings no spreadsheet computes."""
    texts = [name for name, kind in frame.schema.items() if kind in (pl.String, pl.Categorical, pl.Enum)]
    shown = frame.with_columns(pl.col(texts).cast(pl.String).str.replace(FORMULA, "'${0}"))
    return shown.rename({name: f"'{name}" for name in frame.columns if re.match(FORMULA, name)})


def _records(run: Run) -> pl.DataFrame:
    if not any((run.path / "records").glob("*.parquet")):
        raise InputError(f"The run {run.path} holds no records.")
    return run.frame().collect()


def _summarised(run: Run, what: What) -> pl.DataFrame:
    summary = read_summary(run)
    return cells_frame(summary) if what == "cells" else columns_frame(summary)
