"""One table for all parties: a frame, an array, or rows in a list; and whose columns of it are whose."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array, validate_data

from seepage._core import InputError, unknown_name
from seepage._core.names import party_name
from seepage.data import as_frame
from seepage.federation.vertical.columns import dealt
from seepage.federation.vertical.frames import Parties
from seepage.federation.vertical.refusals import checked_by_scikit_learn

FEWEST = 3  # rows to fit: two to train, for BatchNorm, and one to validate


def dealt_frames(
    table: Any, parties: Parties | None, absent: Collection[str], estimator: BaseEstimator, *, fitting: bool
) -> dict[str, pl.DataFrame]:
    """The guests' frames, cut from one table.

    Columns that are dealt by name are looked for by name: others may stand beside them, in any order. Columns that are
    dealt by position must be those of the training, as everywhere in scikit-learn.

    Args:
        absent: guests whose columns may be missing, where they are dealt by name.
        estimator: learns from a table that it is fitted on what its features are, and is asked for it afterwards.
    """
    if parties is None:
        raise InputError(
            "There is one table for all parties; say whose columns are whose with parties={name: columns}, deal them "
            "to so many guests with parties=2, or give a frame for each party by its name."
        )
    if isinstance(parties, Mapping):
        _check_lists(parties)
        columns = [column for each in parties.values() for column in each]
        if any(isinstance(column, str) for column in columns):
            return _by_name(table, parties, absent, estimator, fitting=fitting)
    return _by_position(table, parties, absent, estimator, fitting=fitting)


def _check_lists(parties: Mapping[str, Any]) -> None:
    for name, columns in parties.items():
        party_name(str(name))
        if isinstance(columns, str) or not isinstance(columns, Sequence | np.ndarray):
            raise InputError(
                f"The columns of guest {name!r} are {columns!r}; give a list of names, or a list of positions."
            )
        if not len(columns):
            raise InputError(f"Guest {name!r} has no columns; give it some, or leave it out.")
    kinds = {isinstance(column, str) for columns in parties.values() for column in columns}
    if len(kinds) == 2:
        raise InputError("Some columns of parties are names and some are positions; give all in one way.")


def _by_name(
    table: Any,
    parties: Mapping[str, Sequence[Any]],
    absent: Collection[str],
    estimator: BaseEstimator,
    *,
    fitting: bool,
) -> dict[str, pl.DataFrame]:
    if not hasattr(table, "columns"):
        raise InputError(
            "An array has no names of columns; give a frame, or deal its columns by position: parties={name: [0, 1]}."
        )
    frame = as_frame(table, least=1)
    here = {name: list(columns) for name, columns in parties.items() if name not in absent}
    for column in (column for columns in here.values() for column in columns):
        if column not in frame.columns:
            raise unknown_name("column", column, frame.columns)
    _check_owners(here)
    if fitting:
        owned = {column for columns in here.values() for column in columns}
        estimator.feature_names_in_ = np.array([name for name in frame.columns if name in owned], dtype=object)
        estimator.n_features_in_ = len(owned)
    return {name: frame.select(columns) for name, columns in here.items()}


def _by_position(
    table: Any, parties: Parties, absent: Collection[str], estimator: BaseEstimator, *, fitting: bool
) -> dict[str, pl.DataFrame]:
    with checked_by_scikit_learn():
        if not hasattr(table, "columns"):
            table = check_array(
                table,
                dtype=None,
                ensure_all_finite=False,  # columns are looked at one by one later
                ensure_min_samples=FEWEST if fitting else 1,
                estimator=estimator,
                input_name="X",
            )
        validate_data(estimator, table, reset=fitting, skip_check_array=True)
    frame = as_frame(table, least=1) if hasattr(table, "columns") else array_frame(table)
    names = names_of(frame.width, getattr(estimator, "feature_names_in_", None))
    frame = frame.rename(dict(zip(frame.columns, names, strict=True)))
    positions = _positions(parties, frame.width)
    _check_owners(positions)
    return {name: frame.select([names[each] for each in own]) for name, own in positions.items() if name not in absent}


def _positions(parties: Parties, width: int) -> dict[str, list[int]]:
    if isinstance(parties, Mapping):
        for position in (each for own in parties.values() for each in own):
            if not isinstance(position, int | np.integer) or not 0 <= position < width:
                raise InputError(f"There is no column at position {position!r}; the table has 0 to {width - 1}.")
        return {name: [int(each) for each in own] for name, own in parties.items()}
    if isinstance(parties, bool) or not isinstance(parties, int | np.integer):
        raise InputError(f"parties is {parties!r}; give {{name: columns}}, or the number of guests.")
    if parties > width:
        raise InputError(f"{width} feature(s) cannot be dealt to {parties} guests; every guest needs one.")
    shares = dealt([str(place) for place in range(width)], int(parties))
    return {f"guest{number}": [int(each) for each in share] for number, share in enumerate(shares, start=1)}


def _check_owners(parties: Mapping[str, Sequence[Any]]) -> None:
    owners: dict[Any, str] = {}
    for name, columns in parties.items():
        for column in columns:
            if column in owners:
                raise InputError(
                    f"The column {column!r} is given to {owners[column]!r} and to {name!r}; it has one owner."
                )
            owners[column] = name


def names_of(width: int, features: np.ndarray | None) -> list[str]:
    """Names of a table's columns by position: those of the training, or x0, x1, ... where it had none."""
    if features is None:
        return [f"x{place}" for place in range(width)]
    return [str(name).strip() or f"x{place}" for place, name in enumerate(features)]


def array_frame(array: np.ndarray) -> pl.DataFrame:
    """A frame from a two-dimensional array. An array writes a missing number as NaN, so there NaN is empty."""
    columns = []
    for place in range(array.shape[1]):
        values: Any = array[:, place]
        if values.dtype.kind == "f":
            columns.append(pl.Series(f"x{place}", values.astype(np.float64)).fill_nan(None))
            continue
        if values.dtype.kind not in "biu":  # text, or objects of any kind
            values = [None if _is_empty(value) else value for value in values.tolist()]
        columns.append(pl.Series(f"x{place}", values, strict=False))
    return as_frame(pl.DataFrame(columns), least=1)


def _is_empty(value: Any) -> bool:
    """Whether a cell is NaN, or what pandas writes for it, which answers no comparison."""
    return type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float | np.floating) and value != value)
