"""The audited table: a data set by name, a file, or a frame."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import numpy as np
import polars as pl

from seepage._core import InputError, nearest, unknown_name
from seepage._core.errors import FetchError
from seepage.data import Dropped, Schema, Splits, Table, as_frame, infer_schema, read_frame, split, split_by_group
from seepage.data.registry import DATASETS, find_dataset, open_dataset
from seepage.data.request import Request
from seepage.data.schema import LearningTask
from seepage.results.facts import ColumnFacts, Dataset, LeftOut


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

    def describe(self) -> Dataset:
        """The table's facts for a report: names, kinds and sizes, no values."""
        schema = self.table.schema
        return Dataset(
            name=self.name,
            rows=len(self.table),
            target=schema.target.name,
            task=schema.target.task,
            columns=tuple(
                ColumnFacts(
                    name=column.name,
                    kind=column.kind,
                    cardinality=len(column.categories) or None,
                    sensitive=column.sensitive,
                )
                for column in schema.columns
            ),
            dropped=tuple(LeftOut(name=each.name, reason=each.reason) for each in schema.dropped),
            notes=self.notes,
            digest=self.digest,
        )

    def split(self, generator: np.random.Generator) -> Splits:
        """Training, validation and test rows; nobody's rows are in two of them."""
        if self.groups is None:
            return split(self.table, generator)
        return split_by_group(self.table, self.groups, generator)


def located(request: Request, base: Path) -> Request:
    """The same with files named from the root: for a worker that runs in another folder."""
    changes: dict[str, Any] = {
        name: base / value
        for name in ("path", "schema_file")
        if isinstance(value := getattr(request, name), str | Path) and not Path(value).is_absolute()
    }
    if isinstance(request.data, str | Path) and not request.named and (base / request.data).exists():
        changes["data"] = base / request.data
    return request.model_copy(update=changes)


def open_source(request: Request) -> Source:
    """Open what the user named."""
    if request.data is None:
        raise InputError(
            'Which table is to be audited? Name it with --data, or in a plan with data = "adult" or a file\'s name.'
        )
    notes: tuple[str, ...] = ()
    if request.named:
        name, frame, known, notes = _dataset(request)
        group = request.group or find_dataset(str(request.fallback if notes else request.data)).group
    else:
        name, frame, known, group = *_frame(request.data), None, request.group
        if request.target is None and request.schema_file is None:
            raise InputError("Which column is to be predicted? Name it with --target.")
    if group is not None and group not in frame.columns:
        raise unknown_name("group column", group, frame.columns)
    schema = _schema(request, frame, known, group).with_sensitive(request.sensitive)
    table = Table.from_frame(frame, schema)
    groups = frame.filter(pl.col(schema.target.name).is_not_null())[group].to_numpy() if group else None
    return Source(name=name, table=table, groups=groups, notes=notes)


def _dataset(request: Request) -> tuple[str, pl.DataFrame, Schema, tuple[str, ...]]:
    try:
        return (find_dataset(request.data).name, *open_dataset(request.data, path=request.path), ())
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
    if request.schema_file is not None:
        chosen = Schema.read(request.schema_file)
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
        return infer_schema(frame, target, task=cast(LearningTask | None, request.task), drop=drop)
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
