"""Guess a schema from a frame: the rules are few, and the result can be edited (see :class:`Schema`).

- text and booleans are categorical; text that reads as numbers throughout is numeric; two values make it
  binary;
- whole numbers with two values are binary, other numbers are numeric;
- all-distinct whole numbers or text in a column named like a key are identifiers: dropped, with a warning;
- text that is all-distinct without such a name, and empty columns, stop with a sentence: a person must
  decide.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from dataclasses import replace

import polars as pl

from seepage._core import InputError, unknown_name
from seepage.data.frames import as_numbers_if_it_reads_so
from seepage.data.schema import MISSING, Column, Dropped, Kind, Schema, Target, Task

_IDENTIFIER = re.compile(r"(^|[_\s.-])(id|ids|uuid|guid|key|index|rowid|mrn|ssn|iban)$|^(id|uuid)([_\s.-]|$)", re.I)
_CAMEL_IDENTIFIER = re.compile(r"[a-z](Id|ID|Key|Uuid|UUID)$")
_UNNAMED = re.compile(r"^(unnamed.*|column_1|)$", re.I)
MAX_CLASSES = 50  # whole numbers with at most this many values are classes when they are the target


class IdentifierWarning(UserWarning):
    """A column looks like a key of people or rows; it was left out of training and attack."""


def infer_schema(frame: pl.DataFrame, target: str, *, task: Task | None = None, drop: tuple[str, ...] = ()) -> Schema:
    """The schema of ``frame`` with ``target`` as the column to predict.

    Args:
        frame: the table; empty cells are null.
        target: name of the target column.
        task: ``binary``, ``multiclass`` or ``regression``; guessed when not given.
        drop: columns to leave out.
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
    columns, dropped = [], [Dropped(name=name, reason="dropped by the user") for name in drop]
    for name in frame.columns:
        if name == target or name in drop:
            continue
        series = as_numbers_if_it_reads_so(labelled[name])
        if is_identifier(series):
            reason = "identifier: a different value in every row"
            dropped.append(Dropped(name=name, reason=reason))
            warnings.warn(f"Column {name!r} looks like an identifier and is dropped.", IdentifierWarning, stacklevel=2)
            continue
        columns.append(infer_column(series))
    if not columns:
        raise InputError(f"No input column is left beside the target {target!r}.")
    return Schema(columns=tuple(columns), target=infer_target(labelled[target], task), dropped=tuple(dropped))


def is_identifier(series: pl.Series) -> bool:
    """Whether the column is a key: named like one (or unnamed and counting), with a different value in every
    row.
    """
    named = bool(_IDENTIFIER.search(series.name) or _CAMEL_IDENTIFIER.search(series.name))
    counting = bool(_UNNAMED.match(series.name)) and series.dtype.is_numeric()
    if not (named or counting) or (series.dtype.is_float() and not is_whole(series)):
        return False
    return len(series) >= 3 and not series.null_count() and series.n_unique() == len(series)


def is_whole(series: pl.Series) -> bool:
    """Whether every non-empty number is a whole number."""
    return series.dtype.is_integer() or bool((series.drop_nulls() % 1 == 0).all())


def check_finite(series: pl.Series) -> None:
    """Stop at NaN or infinity: an empty cell is missing, these are mistakes."""
    if not series.dtype.is_float():
        return
    bad = int((~series.is_finite()).sum())
    if bad:
        raise InputError(
            f"Column {series.name!r} has {bad} cell(s) that are NaN or infinite; "
            "leave a cell empty where the value is missing."
        )


def infer_column(series: pl.Series) -> Column:
    """The column that this series is."""
    name, empty = series.name, series.null_count()
    if empty == len(series):
        raise InputError(f"Column {name!r} is empty in every row; drop it (--drop {name}).")
    if series.dtype.is_numeric():
        check_finite(series)
        if empty or not is_whole(series) or series.n_unique() > 2:
            return _numeric_column(series)
    categories = as_text(series.drop_nulls().unique()).unique().sort().to_list()
    if series.dtype == pl.String and len(series) > 2 and len(categories) == len(series):
        raise InputError(
            f"Column {name!r} has a different text in each of its {len(series)} rows: it identifies people or "
            f"is free text; drop it (--drop {name})."
        )
    categories += [MISSING] if empty else []
    return Column(name=name, kind="binary" if len(categories) == 2 else "categorical", categories=tuple(categories))


def with_kinds(schema: Schema, frame: pl.DataFrame, kinds: Mapping[str, Kind]) -> Schema:
    """The same schema with these columns read as another kind: a code that is written as a number, for
    instance.

    Args:
        schema: as inferred from ``frame``.
        frame: the table; gives the ranges and the categories. Numbers keep their order as categories.
        kinds: column name -> kind.
    """
    labelled = frame.filter(pl.col(schema.target.name).is_not_null())
    changed = {name: _as_kind(schema.column(name), labelled[name], kind) for name, kind in kinds.items()}
    return replace(schema, columns=tuple(changed.get(column.name, column) for column in schema.columns))


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
    # NOTE[DIFF] document 002 fills missing numbers with 0; where 0 is outside the column's range that would
    # be a value nobody has, so the median stands in.
    fill = 0.0 if low <= 0 <= high else float(present.median())  # type: ignore[arg-type]
    return Column(name=series.name, kind="numeric", integer=is_whole(series), low=low, high=high, fill=fill)


def infer_target(series: pl.Series, task: Task | None) -> Target:
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
        raise InputError(f"The target {series.name!r} has {distinct} classes in {len(series)} rows; that is no class.")
    order = series.unique().sort()
    return Target(name=series.name, task=task, classes=tuple(as_text(order).to_list()))


def as_text(series: pl.Series) -> pl.Series:
    """Categories as text: 1.0 and 1 are the same category, spaces at the ends do not count."""
    if series.dtype.is_float() and is_whole(series):
        series = series.cast(pl.Int64)
    if series.dtype == pl.Boolean:
        return series.replace_strict({True: "true", False: "false"}, return_dtype=pl.String)
    return series.cast(pl.String).str.strip_chars()
