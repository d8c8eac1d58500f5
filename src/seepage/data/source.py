"""The audited table: a data set by name, a file, or a frame.

Long because every way in which a table comes ends here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import numpy as np
import polars as pl

from seepage._core import InputError, unknown_name
from seepage._core.errors import FetchError
from seepage._core.paths import user_path
from seepage.data import Dropped, Schema, Splits, Table, Target, infer_schema, split, split_by_group
from seepage.data.infer import as_text, column_of_kind, infer_inputs
from seepage.data.overview import Overview, overview_of
from seepage.data.own_table import OwnTable, fitted, open_own, read_again, there
from seepage.data.prepared import as_preprocessing, lost_cells, prepared, words_of
from seepage.data.preprocessing import Preprocessing
from seepage.data.read_column import Reading
from seepage.data.reading import check_said, read_columns
from seepage.data.registry import find_dataset, open_dataset
from seepage.data.request import Request
from seepage.data.schema import Kind, LearningTask
from seepage.data.table import check_fits
from seepage.results.facts import ColumnFacts, Dataset, LeftOut


@dataclass(frozen=True, kw_only=True)
class Source:
    """A table, its name, whose row each row is (if people have several), sentences about how it came, and what was
    made of its columns.
    """

    name: str
    table: Table
    groups: np.ndarray | None = None
    group: str = ""
    notes: tuple[str, ...] = ()
    overview: Overview | None = None
    preprocessing: Preprocessing | None = None

    @cached_property
    def digest(self) -> str:
        """Equal for equal rows with an equal schema: a file may have changed since a run was begun."""
        found = hashlib.blake2b(repr(self.table.schema).encode(), digest_size=8)
        for part in (self.table.numbers, self.table.codes, self.table.target):
            found.update(np.ascontiguousarray(part).tobytes())
        if self.groups is not None:
            found.update(repr(self.groups.tolist()).encode())
        if self.preprocessing is not None:
            found.update(self.preprocessing.to_toml().encode())
        return found.hexdigest()

    def describe(self) -> Dataset:
        """The table's facts for a report: names, kinds and sizes, no values."""
        schema = self.table.schema
        missing = self.overview.missing if self.overview else {}
        notes = self.notes + (self.overview.notes if self.overview else ())
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
                    missing=missing.get(column.name, (0, ""))[0],
                    filled=missing.get(column.name, (0, ""))[1],
                )
                for column in schema.columns
            ),
            dropped=tuple(LeftOut(name=each.name, reason=each.reason) for each in schema.dropped),
            notes=notes,
            digest=self.digest,
            group=self.group,
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
        for name in ("path", "schema_file", "preprocessing")
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
    return _named_source(request) if request.named else _own_source(request)[0]


def _own_source(request: Request) -> tuple[Source, OwnTable]:
    """The user's own table, opened and as it is written: its columns are read first."""
    if isinstance(request.data, str | Path):
        there(Path(request.data))
    if request.target is None and request.schema_file is None:
        raise InputError("Which column is to be predicted? Name it with --target.")
    edited = Schema.read(request.schema_file) if request.schema_file is not None else None
    shared = as_preprocessing(request.preprocessing)
    said = {**request.read_as, **dict.fromkeys(request.drop, "leave_out")}
    named = [name for name in (request.target, request.group, *request.sensitive) if name is not None]
    own = open_own(request.data, said, named)
    if edited is not None:
        listed = {
            each.name: each.read_as for each in edited.columns if each.read_as and each.name in own.written.columns
        }
        said = listed | said
        own = fitted(own if not listed else open_own(request.data, said), edited, said)
    if shared is not None:
        own = read_again(own, words_of(shared), said, apart=(request.target, request.group))
    frame, group = own.frame, request.group
    _check_group(group, frame)
    schema = _schema(request, frame, edited, group, own.readings).with_sensitive(request.sensitive)
    if shared is not None:
        frame, schema = prepared(frame, schema, shared)
    table = Table.from_frame(frame, schema)
    labelled = frame[schema.target.name].is_not_null()
    seen = overview_of(own.name, frame, schema, written=own.written, readings=own.readings, notes=own.notes)
    groups = own.plainly(group).filter(labelled).to_numpy() if group else None
    source = Source(name=own.name, table=table, groups=groups, group=group or "", overview=seen)
    return _with_preprocessing(source, shared), own


def table_under(data: Any, schema: Schema, shared: Preprocessing | None = None) -> Table:
    """The rows of a file or frame under a schema that is known already, after what all clients do to their columns."""
    given = there(user_path(data)) if isinstance(data, str | Path) else data
    said = {each.name: each.read_as for each in schema.columns if each.read_as}
    own = fitted(open_own(given, said), schema, said)
    check_fits(own.frame, schema)
    if shared is None:
        return Table.from_frame(own.frame, schema)
    own = read_again(own, words_of(shared), said, apart=(schema.target.name, None))
    return Table.from_frame(prepared(own.frame, schema, shared)[0], schema)


def look_at(request: Request) -> tuple[Overview, pl.DataFrame]:
    """What would be made of a table, and its cells as they are written; a target need not be named."""
    if request.data is None:
        raise InputError("Which table is to be checked? Name a CSV, Excel or Parquet file, or a data set.")
    if request.named:
        source = _named_source(request)
        assert source.overview is not None
        return source.overview, _dataset(request)[1]
    if request.target is not None or request.schema_file is not None:
        source, own = _own_source(request)
        assert source.overview is not None
        return source.overview, own.written
    said = {**request.read_as, **dict.fromkeys(request.drop, "leave_out")}
    own = open_own(request.data, said)
    out = [name for name, word in said.items() if word == "leave_out"]
    kinds = _settled(own.readings)
    columns, dropped = infer_inputs(own.frame.drop(out), kinds=kinds)
    dropped = [*dropped, *(Dropped(name=name, reason="dropped by the user") for name in out)]
    schema = Schema(columns=tuple(columns), target=Target(name="", task="regression"), dropped=tuple(dropped))
    notes = (*own.notes, "No target is named (--target), so every column is shown as an input.")
    seen = overview_of(own.name, own.frame, schema, written=own.written, readings=own.readings, notes=notes)
    return seen, own.written


def _named_source(request: Request) -> Source:
    """A data set by name: its columns are known."""
    name, frame, known, notes = _dataset(request)
    group = request.group or find_dataset(str(request.fallback if notes else request.data)).group
    _check_group(group, frame)
    check_said(request.read_as, frame.columns)
    written = frame
    readings = read_columns(frame.select(list(request.read_as)), request.read_as) if request.read_as else []
    frame = frame.with_columns(reading.values for reading in readings)
    edited = Schema.read(request.schema_file) if request.schema_file is not None else None
    schema = _schema(request, frame, edited, group, readings, known=known).with_sensitive(request.sensitive)
    shared = as_preprocessing(request.preprocessing)
    if shared is not None:
        frame, schema = prepared(frame, schema, shared)
    table = Table.from_frame(frame, schema)
    seen = overview_of(name, frame, schema, written=written, readings=readings)
    groups = frame.filter(pl.col(schema.target.name).is_not_null())[group].to_numpy() if group else None
    source = Source(name=name, table=table, groups=groups, group=group or "", notes=notes, overview=seen)
    return _with_preprocessing(source, shared)


def _with_preprocessing(source: Source, shared: Preprocessing | None) -> Source:
    """The source with what all clients do to their columns, and sentences about what that loses."""
    if shared is None:
        return source
    lost = (*shared.cannot_be_inverted(), *lost_cells(source.table, shared))
    return replace(source, preprocessing=shared, notes=(*source.notes, *lost))


def _check_group(group: str | None, frame: pl.DataFrame) -> None:
    if group is not None and group not in frame.columns:
        raise unknown_name("group column", group, frame.columns)


def _dataset(request: Request) -> tuple[str, pl.DataFrame, Schema, tuple[str, ...]]:
    try:
        return (find_dataset(request.data).name, *open_dataset(request.data, path=request.path), ())
    except FetchError as error:
        if request.fallback is None:
            raise
        note = f"{request.data} could not be fetched, so {request.fallback} was audited instead. ({error})"
        return (request.fallback, *open_dataset(request.fallback), (note,))


def _schema(
    request: Request,
    frame: pl.DataFrame,
    edited: Schema | None,
    group: str | None,
    readings: Sequence[Reading],
    *,
    known: Schema | None = None,
) -> Schema:
    """The user's schema file, or what is known about the data set, or a guess; without what is not to be used."""
    left_out = [name for name, word in request.read_as.items() if word == "leave_out"]
    unwanted = dict.fromkeys([*request.drop, *left_out, *([group] if group else [])])
    for name in unwanted:
        if name not in frame.columns:
            raise unknown_name("column to drop", name, frame.columns)
    chosen = edited or known
    if edited is not None:
        check_fits(frame, edited)
        _check_agrees(request, edited)
    elif (
        known is None
        or request.target not in (None, known.target.name)
        or request.task not in (None, known.target.task)
    ):
        target = request.target or (known.target.name if known else "")
        unused = [d.name for d in known.dropped if d.name != target and d.name not in request.read_as] if known else []
        drop = tuple(dict.fromkeys([*unused, *unwanted]))
        return inferred(frame, target, readings, task=cast(LearningTask | None, request.task), drop=drop)
    assert chosen is not None  # known or edited
    chosen = _with_readings(chosen, frame, [each for each in readings if each.name in request.read_as])
    if chosen.target.name in unwanted:
        raise InputError(f"The target {chosen.target.name!r} cannot be dropped.")
    columns = tuple(column for column in chosen.columns if column.name not in unwanted)
    left = [Dropped(name=c.name, reason="left out by the user") for c in chosen.columns if c.name in unwanted]
    if not columns:
        raise InputError(f"No input column is left beside the target {chosen.target.name!r}.")
    return replace(chosen, columns=columns, dropped=(*chosen.dropped, *left))


def _check_agrees(request: Request, edited: Schema) -> None:
    if request.target not in (None, edited.target.name):
        raise InputError(f"The schema's target is {edited.target.name!r}, not {request.target!r}.")
    if request.task not in (None, edited.target.task):
        raise InputError(f"The schema's task is {edited.target.task!r}, not {request.task!r}.")


def inferred(
    frame: pl.DataFrame,
    target: str,
    readings: Sequence[Reading],
    *,
    task: LearningTask | None = None,
    drop: tuple[str, ...] = (),
) -> Schema:
    """A schema by what was read: what the user asked for is kept, and the schema remembers how it was written."""
    by_name = {each.name: each for each in readings}
    kinds = _settled([each for each in readings if each.name != target])
    asked_for = by_name[target].kind if target in by_name else None
    if asked_for == "numeric" and task is None:
        task = "regression"
    if asked_for == "categorical" and frame[target].dtype.is_numeric():
        frame = frame.with_columns(as_text(frame[target]).cast(pl.Categorical))
    schema = infer_schema(frame, target, task=task, drop=drop, kinds=kinds)
    columns = tuple(
        replace(each, read_as=by_name[each.name].word if each.name in by_name else "") for each in schema.columns
    )
    return replace(schema, columns=columns)


def _settled(readings: Sequence[Reading]) -> dict[str, Kind]:
    """Kinds that are no question any more: what the user asked for, and dates, which are no keys even if they count."""
    asked_for = {each.name: each.kind for each in readings if each.kind}
    dates: dict[str, Kind] = {each.name: "numeric" for each in readings if each.unit and each.values.n_unique() > 1}
    return dates | asked_for


def _with_readings(schema: Schema, frame: pl.DataFrame, readings: Sequence[Reading]) -> Schema:
    """A known schema in which some columns are read as the user asked; one that was left out is used then."""
    labelled = frame.filter(pl.col(schema.target.name).is_not_null())
    made = {
        each.name: replace(column_of_kind(labelled[each.name], each.kind), read_as=each.word)
        for each in readings
        if each.kind and each.name != schema.target.name
    }
    listed = {column.name for column in schema.columns}
    columns = [replace(made[c.name], sensitive=c.sensitive) if c.name in made else c for c in schema.columns]
    columns += [column for name, column in made.items() if name not in listed]
    dropped = tuple(each for each in schema.dropped if each.name not in made)
    return replace(schema, columns=tuple(columns), dropped=dropped)
