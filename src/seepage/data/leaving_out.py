"""Which columns of somebody's own table are left out without being asked: keys, free text, constants and empty columns.

Each is told in a warning that names the option to keep it. What is named like a key and repeats stays, with a warning.
"""

from __future__ import annotations

import re
import warnings

import polars as pl

from seepage._core import InputError
from seepage.data.read_column import asked
from seepage.data.schema import LARGEST

_IDENTIFIER = re.compile(r"(^|[_\s.-])(id|ids|uuid|guid|key|index|rowid|mrn|ssn|iban)$|^(id|uuid)([_\s.-]|$)", re.I)
_CAMEL_IDENTIFIER = re.compile(r"[a-z](Id|ID|Key|Uuid|UUID)$")
_UNNAMED = re.compile(r"^(unnamed.*|column_\d+|)$", re.I)
_MANY = 20  # fewer rows say nothing about what a column counts
_NEARLY = 0.8  # of the filled cells are different
_NARROW = 1.5  # numbers in a range for each row: all different by chance they are not
_LONG = 10**8  # numbers of nine digits and more are numbers of people, phones or accounts


class IdentifierWarning(UserWarning):
    """A column looks like a key of people or rows: left out if it is one of rows, else a person must decide."""


class ConstantWarning(UserWarning):
    """A column has the same value in every row; it was left out of training and attack."""


def reason_to_leave_out(series: pl.Series, *, known: bool) -> str:
    """Why a column is left out, or nothing. Tells it in a warning.

    Args:
        series: the column, read.
        known: a documented input of a data set: only keys that are named like one are left out.
    """
    name = series.name
    keep = asked(name, "number" if series.dtype.is_numeric() else "category")
    if is_identifier(series):
        message = f"Column {name!r} looks like an identifier and is dropped. To keep it: {keep}."
        warnings.warn(message, IdentifierWarning, stacklevel=3)
        return "identifier: a different value in every row"
    if known:
        return ""
    if series.null_count() == len(series):
        warnings.warn(f"Column {name!r} is empty in every row and is dropped.", ConstantWarning, stacklevel=3)
        return "empty in every row"
    if is_constant(series):
        message = f"Column {name!r} has the same value in every row and is dropped. To keep it: {keep}."
        warnings.warn(message, ConstantWarning, stacklevel=3)
        return "constant: the same value in every row"
    if is_counting(series):
        message = (
            f"Column {name!r} has another whole number in every row, like a key, and is dropped. To keep it: {keep}."
        )
        warnings.warn(message, IdentifierWarning, stacklevel=3)
        return "a key: it numbers the rows"
    if is_free_text(series):
        message = (
            f"Column {name!r} has a different text in nearly every row (it identifies people or is free text) and is "
            f"dropped. To keep it: {keep}."
        )
        warnings.warn(message, IdentifierWarning, stacklevel=3)
        return "nearly every text differs"
    if is_named_like_a_key(series):
        message = (
            f"Column {name!r} is named like a key and is used as an input; if it says whose row it is, give "
            f"--group {name}, else leave it out with --drop {name}."
        )
        warnings.warn(message, IdentifierWarning, stacklevel=3)
    return ""


def is_identifier(series: pl.Series) -> bool:
    """Whether the column is a key: named like one (or unnamed and counting), with a different value in every
    row.
    """
    counting = bool(_UNNAMED.match(series.name)) and series.dtype.is_numeric() and is_whole(series)
    if not (counting or is_named_like_a_key(series)):
        return False
    return len(series) >= 3 and not series.null_count() and series.n_unique() == len(series)


def is_named_like_a_key(series: pl.Series) -> bool:
    """Whether the column is named like a key and holds what keys are made of: whole numbers or text."""
    named = bool(_IDENTIFIER.search(series.name) or _CAMEL_IDENTIFIER.search(series.name))
    return named and series.dtype != pl.Boolean and not (series.dtype.is_float() and not is_whole(series))


def is_constant(series: pl.Series) -> bool:
    """Whether all of several rows have the same value; an empty cell is another value."""
    check_finite(series)
    return len(series) > 1 and not series.null_count() and series.n_unique() == 1


def is_counting(series: pl.Series) -> bool:
    """Whether a column has a different whole number in every row, from a narrow range or of nine digits and more."""
    rows = len(series)
    if rows < _MANY or series.null_count() or not series.dtype.is_integer():
        return False
    low, high = int(series.min()), int(series.max())  # type: ignore[arg-type]
    return (high - low < _NARROW * rows or low >= _LONG) and series.n_unique() == rows


def is_free_text(series: pl.Series) -> bool:
    """Whether a column has a different text in every row, or in nearly every one that is filled."""
    if series.dtype.is_numeric() or series.dtype == pl.Boolean:
        return False
    distinct, filled = series.drop_nulls().n_unique(), len(series) - series.null_count()
    if distinct == len(series) and distinct > 2:
        return True
    return distinct >= _MANY and distinct > _NEARLY * filled


def is_whole(series: pl.Series) -> bool:
    """Whether every non-empty number is a whole number."""
    return series.dtype.is_integer() or bool((series.drop_nulls() % 1 == 0).all())


def check_finite(series: pl.Series) -> None:
    """Stop at NaN, infinity and what nothing can be computed with: an empty cell is missing, these are mistakes."""
    if not series.dtype.is_float():
        return
    bad = int((~series.is_finite()).sum())
    if bad:
        raise InputError(
            f"Column {series.name!r} has {bad} cell(s) that are NaN or infinite; leave a cell empty where the value is "
            f"missing, or leave the column out ({asked(series.name, 'leave_out')})."
        )
    large = int((series.abs() > LARGEST).sum())
    if large:
        raise InputError(
            f"Column {series.name!r} has {large} number(s) beyond {LARGEST:g}, which models cannot compute with; leave "
            f"such a cell empty, or leave the column out ({asked(series.name, 'leave_out')})."
        )
