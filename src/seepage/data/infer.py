"""Guess a schema from a frame: the rules are few, and the result can be edited (see :class:`Schema`).

- text and booleans are categorical; text that reads as numbers throughout is numeric; two values make it
  binary;
- whole numbers with two values are binary (categorical if cells are empty), other numbers are numeric;
- keys, text that differs in nearly every row, constants and empty columns are left out, with a warning
  (:mod:`seepage.data.leaving_out`);
- tables that are too wide stop with a sentence.

What text means (decimal commas, dates, codes) was decided before: see :mod:`seepage.data.reading`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import polars as pl

from seepage._core import InputError, unknown_name
from seepage.data.frames import as_numbers_if_it_reads_so
from seepage.data.leaving_out import check_finite, is_whole, reason_to_leave_out
from seepage.data.read_column import asked
from seepage.data.schema import MISSING, Column, Dropped, Kind, LearningTask, Schema, Target

MAX_CLASSES = 50  # whole numbers with at most this many values are classes when they are the target
MAX_INPUTS = 20_000  # numbers and categories together


def infer_schema(
    frame: pl.DataFrame,
    target: str,
    *,
    task: LearningTask | None = None,
    drop: tuple[str, ...] = (),
    known: bool = False,
    kinds: Mapping[str, Kind] | None = None,
) -> Schema:
    """The schema of ``frame`` with ``target`` as the column to predict.

    Args:
        frame: the table; empty cells are null.
        target: name of the target column.
        task: ``binary``, ``multiclass`` or ``regression``; guessed when not given.
        drop: columns to leave out.
        known: the columns are documented inputs (a registered data set): only keys that are named like one are
            left out.
        kinds: columns whose kind is known; they are not left out.
    """
    if target not in frame.columns:
        raise unknown_name("target column", target, frame.columns)
    for name in drop:
        if name not in frame.columns:
            raise unknown_name("column to drop", name, frame.columns)
        if name == target:
            raise InputError(f"The target {target!r} cannot be dropped.")
    labelled = frame.filter(pl.col(target).is_not_null())
    if labelled.height == 0:
        raise InputError(f"The target {target!r} is empty in every row.")
    columns, left_out = infer_inputs(labelled.drop(target, *drop), known=known, kinds=kinds)
    if not columns:
        raise InputError(f"No input column is left beside the target {target!r}.")
    _check_width(columns)
    dropped = (*(Dropped(name=name, reason="dropped by the user") for name in drop), *left_out)
    return Schema(columns=tuple(columns), target=infer_target(labelled[target], task), dropped=dropped)


def infer_inputs(
    frame: pl.DataFrame, *, known: bool = False, kinds: Mapping[str, Kind] | None = None
) -> tuple[list[Column], list[Dropped]]:
    """The input columns of a frame without its target, and those that are left out (see :func:`infer_schema`)."""
    columns, dropped = [], []
    for name in frame.columns:
        series, kind = as_numbers_if_it_reads_so(frame[name]), (kinds or {}).get(name)
        reason = "" if kind else reason_to_leave_out(series, known=known)
        if reason:
            dropped.append(Dropped(name=name, reason=reason))
        else:
            columns.append(column_of_kind(series, kind) if kind else infer_column(series))
    return columns, dropped


def _check_width(columns: list[Column]) -> None:
    """Stop at a table whose categories are so many that no model of it could be trained."""
    widths = {column.name: 1 if column.is_numeric else len(column.categories) for column in columns}
    total = sum(widths.values())
    if total > MAX_INPUTS:
        widest = sorted(widths, key=lambda name: -widths[name])[:3]
        shown = ", ".join(f"{name!r} ({widths[name]})" for name in widest)
        raise InputError(
            f"The table would have {total} encoded inputs, more than {MAX_INPUTS}; the widest columns are {shown}: "
            f"leave out what is not needed ({asked(widest[0], 'leave_out')})."
        )


def infer_column(series: pl.Series) -> Column:
    """The column that this series is."""
    name, empty = series.name, series.null_count()
    if empty == len(series):
        raise InputError(f"Column {name!r} is empty in every row; leave it out ({asked(name, 'leave_out')}).")
    if series.dtype.is_numeric():
        check_finite(series)
        values = series.drop_nulls().n_unique()
        if values > 2 or (values == 2 and not is_whole(series)) or (values == 1 and not empty and not is_whole(series)):
            return _numeric_column(series)
    categories = as_text(series.drop_nulls().unique()).unique().sort().to_list()
    if not series.dtype.is_numeric() and len(series) > 2 and len(categories) == len(series):
        raise InputError(
            f"Column {name!r} has a different text in each of its {len(series)} rows: it identifies people or "
            f"is free text; leave it out ({asked(name, 'leave_out')})."
        )
    categories += [MISSING] if empty else []
    return Column(name=name, kind="binary" if len(categories) == 2 else "categorical", categories=tuple(categories))


def with_kinds(schema: Schema, frame: pl.DataFrame, kinds: Mapping[str, Kind]) -> Schema:
    """The same schema with these columns read as another kind: a code that is written as a number, for
    instance.

    Args:
        schema: as inferred from ``frame``.
        frame: the table; gives the ranges and the categories. Numbers keep their order as categories.
        kinds: column name -> kind; a dropped column stays dropped.
    """
    labelled = frame.filter(pl.col(schema.target.name).is_not_null())
    gone = {dropped.name for dropped in schema.dropped}
    changed = {
        name: _as_kind(schema.column(name), labelled[name], kind) for name, kind in kinds.items() if name not in gone
    }
    return replace(schema, columns=tuple(changed.get(column.name, column) for column in schema.columns))


def column_of_kind(series: pl.Series, kind: Kind, *, sensitive: bool = False) -> Column:
    """The column that this series is if its kind is known; a categorical column of two values is binary."""
    made = _as_kind(Column(name=series.name, kind=kind, sensitive=sensitive), series, kind)
    return replace(made, kind="binary") if kind == "categorical" and len(made.categories) == 2 else made


def _as_kind(column: Column, series: pl.Series, kind: Kind) -> Column:
    series = as_numbers_if_it_reads_so(series)
    if kind == "numeric":
        if not series.dtype.is_numeric():
            raise InputError(f"Column {column.name!r} holds text, so it cannot be numeric.")
        return replace(_numeric_column(series), sensitive=column.sensitive)
    check_finite(series)
    # Ordered before it becomes text: 9 comes before 10.
    categories = as_text(series.drop_nulls().unique().sort()).to_list() + ([MISSING] if series.null_count() else [])
    if kind == "binary" and len(categories) != 2:
        raise InputError(f"Column {column.name!r} has {len(categories)} values; a binary column has two.")
    return Column(name=column.name, kind=kind, categories=tuple(categories), sensitive=column.sensitive)


def _numeric_column(series: pl.Series) -> Column:
    check_finite(series)
    present = series.drop_nulls()
    low, high = float(present.min()), float(present.max())  # type: ignore[arg-type]
    # NOTE[DIFF] the profiling study fills missing numbers with 0; where 0 is outside the column's range that would
    # be a value nobody has, so the median stands in.
    fill = 0.0 if low <= 0 <= high else float(present.median())  # type: ignore[arg-type]
    return Column(name=series.name, kind="numeric", integer=is_whole(series), low=low, high=high, fill=fill)


def infer_target(series: pl.Series, task: LearningTask | None) -> Target:
    """The target: its task, and its classes if it has some."""
    series = as_numbers_if_it_reads_so(series)
    check_finite(series)
    distinct = series.n_unique()
    if distinct == 1:
        raise InputError(f"The target {series.name!r} has the same value in every row; there is nothing to learn.")
    if task is None:
        classes = not series.dtype.is_numeric() or (is_whole(series) and distinct <= MAX_CLASSES)
        task = ("binary" if distinct == 2 else "multiclass") if classes else "regression"
    if task == "regression":
        if not series.dtype.is_numeric():
            raise InputError(f"The target {series.name!r} is text, so it cannot be a regression target.")
        return Target(name=series.name, task=task)
    if task == "binary" and distinct != 2:
        raise InputError(f"The target {series.name!r} has {distinct} values; a binary target has two.")
    if distinct > len(series) // 2 or distinct > 1000:
        hint = "; if it is a quantity, use --task regression" if series.dtype.is_numeric() else ""
        raise InputError(
            f"The target {series.name!r} has {distinct} classes in {len(series)} rows, too many to learn{hint}."
        )
    order = series.unique().sort()
    return Target(name=series.name, task=task, classes=tuple(as_text(order).to_list()))


def as_text(series: pl.Series) -> pl.Series:
    """Categories as text: 1.0 and 1 are the same category, spaces at the ends do not count."""
    if series.dtype.is_float() and is_whole(series) and bool((series.drop_nulls().abs() < 2**63).all()):
        series = series.cast(pl.Int64)
    if series.dtype == pl.Boolean:
        return series.replace_strict({True: "true", False: "false"}, return_dtype=pl.String)
    return series.cast(pl.String).str.strip_chars()
