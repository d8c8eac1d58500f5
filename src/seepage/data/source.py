"""The audited table: a data set by name, a file, or a frame."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, get_args

import numpy as np
import polars as pl

from seepage._core import InputError, nearest, unknown_name
from seepage._core.errors import FetchError
from seepage.data import Dropped, Schema, Splits, Table, as_frame, infer_schema, read_frame, split, split_by_group
from seepage.data.registry import DATASETS, open_dataset
from seepage.data.schema import Task


@dataclass(frozen=True, kw_only=True)
class Source:
    """A table, its name, whose row each row is (if people have several), and sentences about how it came."""

    name: str
    table: Table
    groups: np.ndarray | None = None
    notes: tuple[str, ...] = ()

    @cached_property
    def digest(self) -> str:
        """Equal for equal rows with an equal schema: a file may have changed since a run was begun."""
        found = hashlib.blake2b(repr(self.table.schema).encode(), digest_size=8)
        for part in (self.table.numbers, self.table.codes, self.table.target):
            found.update(np.ascontiguousarray(part).tobytes())
        if self.groups is not None:
            found.update(repr(self.groups.tolist()).encode())
        return found.hexdigest()

    def split(self, generator: np.random.Generator) -> Splits:
        """Training, validation and test rows; nobody's rows are in two of them."""
        if self.groups is None:
            return split(self.table, generator)
        return split_by_group(self.table, self.groups, generator)


@dataclass(frozen=True, kw_only=True)
class Request:
    """What the user said about the table.

    Args:
        data: a data set's name, a path to a CSV or Parquet file, or a polars or pandas frame.
        target: the column to predict; named data sets know theirs.
        task, drop: see :func:`infer_schema`.
        sensitive: columns to mark.
        group: the column that says whose row it is; it is not used as an input.
        schema: a TOML file to use instead of inferring.
        path: the user's own copy of a named data set.
        fallback: a data set to take when the named one cannot be fetched.
    """

    data: Any
    target: str | None = None
    task: Task | None = None
    drop: tuple[str, ...] = ()
    sensitive: tuple[str, ...] = ()
    group: str | None = None
    schema: Path | None = None
    path: Path | None = None
    fallback: str | None = None

    def __post_init__(self) -> None:
        if self.task is not None and self.task not in get_args(Task):
            raise unknown_name("task", str(self.task), get_args(Task))
        if self.fallback is not None and self.fallback not in DATASETS:
            raise unknown_name("fallback data set", self.fallback, DATASETS)
        if self.path is not None and not self.named:
            raise InputError("--path is your own copy of a named data set; give your own table with --data.")

    @property
    def named(self) -> bool:
        """Whether a data set is asked for by name."""
        return isinstance(self.data, str) and self.data in DATASETS


def located(request: Request, base: Path) -> Request:
    """The same with files named from the root: for a worker that runs in another folder."""
    changes: dict[str, Any] = {
        name: base / value
        for name in ("path", "schema")
        if isinstance(value := getattr(request, name), str | Path) and not Path(value).is_absolute()
    }
    if isinstance(request.data, str | Path) and not request.named and (base / request.data).exists():
        changes["data"] = base / request.data
    return replace(request, **changes)


def open_source(request: Request) -> Source:
    """Open what the user named."""
    if request.data is None:
        raise InputError(
            'Which table is to be audited? Name it with --data, or in a plan with data = "adult" or a file\'s name.'
        )
    notes: tuple[str, ...] = ()
    if request.named:
        name, frame, known, notes = _dataset(request)
        group = request.group or DATASETS[name].group
    else:
        name, frame, known, group = *_frame(request.data), None, request.group
        if request.target is None and request.schema is None:
            raise InputError("Which column is to be predicted? Name it with --target.")
    if group is not None and group not in frame.columns:
        raise unknown_name("group column", group, frame.columns)
    schema = _schema(request, frame, known, group).with_sensitive(request.sensitive)
    table = Table.from_frame(frame, schema)
    groups = frame.filter(pl.col(schema.target.name).is_not_null())[group].to_numpy() if group else None
    return Source(name=name, table=table, groups=groups, notes=notes)


def _dataset(request: Request) -> tuple[str, pl.DataFrame, Schema, tuple[str, ...]]:
    try:
        return (request.data, *open_dataset(request.data, path=request.path), ())
    except FetchError as error:
        if request.fallback is None:
            raise
        note = f"{request.data} could not be fetched, so {request.fallback} was audited instead. ({error})"
        return (request.fallback, *open_dataset(request.fallback), (note,))


def _schema(request: Request, frame: pl.DataFrame, known: Schema | None, group: str | None) -> Schema:
    """The user's schema file, or what is known about the data set, or a guess; without what is not to be used."""
    unwanted = dict.fromkeys([*request.drop, *([group] if group else [])])
    for name in unwanted:
        if name not in frame.columns:
            raise unknown_name("column to drop", name, frame.columns)
    if request.schema is not None:
        chosen = Schema.read(request.schema)
        if request.target not in (None, chosen.target.name):
            raise InputError(f"The schema's target is {chosen.target.name!r}, not {request.target!r}.")
        if request.task not in (None, chosen.target.task):
            raise InputError(f"The schema's task is {chosen.target.task!r}, not {request.task!r}.")
    elif known and request.target in (None, known.target.name) and request.task in (None, known.target.task):
        chosen = known
    else:
        target = request.target or (known.target.name if known else "")
        unused = [d.name for d in known.dropped if d.name != target] if known else []
        drop = tuple(dict.fromkeys([*unused, *unwanted]))
        return infer_schema(frame, target, task=request.task, drop=drop)
    if chosen.target.name in unwanted:
        raise InputError(f"The target {chosen.target.name!r} cannot be dropped.")
    columns = tuple(column for column in chosen.columns if column.name not in unwanted)
    left = [Dropped(name=c.name, reason="left out by the user") for c in chosen.columns if c.name in unwanted]
    if not columns:
        raise InputError(f"No input column is left beside the target {chosen.target.name!r}.")
    return replace(chosen, columns=columns, dropped=(*chosen.dropped, *left))


def _frame(data: Any) -> tuple[str, pl.DataFrame]:
    if not isinstance(data, str | Path):
        return "frame", as_frame(data)
    path = Path(data)
    if not path.exists() and not path.suffix and len(path.parts) == 1:
        guess = nearest(str(data), DATASETS)
        hint = f" Did you mean {guess!r}?" if guess else ""
        raise InputError(
            f"There is no file and no data set named {str(data)!r}; data sets are: {', '.join(DATASETS)}.{hint}"
        )
    return path.stem, read_frame(path)
