"""The audited table: a data set by name, a file, or a frame."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seepage._core import InputError, nearest
from seepage._core.errors import FetchError
from seepage.data import Schema, Table, as_frame, infer_schema, read_frame
from seepage.data.registry import DATASETS, open_dataset
from seepage.data.schema import Task


@dataclass(frozen=True, kw_only=True)
class Source:
    """A table, its name, and sentences about how it came."""

    name: str
    table: Table
    notes: tuple[str, ...] = ()


def open_source(
    data: Any,
    target: str | None = None,
    *,
    task: Task | None = None,
    drop: tuple[str, ...] = (),
    sensitive: tuple[str, ...] = (),
    schema: Path | None = None,
    fallback: str | None = None,
) -> Source:
    """Open what the user named.

    Args:
        data: a data set's name, a path to a CSV or Parquet file, or a polars or pandas frame.
        target: the column to predict; named data sets know theirs.
        task, drop, sensitive: see :func:`infer_schema` and :class:`Column`.
        schema: a TOML file to use instead of inferring.
        fallback: a data set to take when the named one cannot be fetched.
    """
    notes: tuple[str, ...] = ()
    if isinstance(data, str) and data in DATASETS:
        try:
            frame, known = open_dataset(data)
        except FetchError as error:
            if fallback is None:
                raise
            notes = (f"{data} could not be fetched, so {fallback} was audited instead. {error}",)
            data = fallback
            frame, known = open_dataset(fallback)
        name, target, task = data, target or known.target.name, task or known.target.task
        inferred = known if (target == known.target.name and not drop) else None
    else:
        name, frame, inferred = _frame(data)
        if target is None and schema is None:
            raise InputError("Which column is to be predicted? Name it with --target.")
    if schema is not None:
        chosen = Schema.read(schema)
        if target is not None and target != chosen.target.name and inferred is None:
            raise InputError(f"The schema's target is {chosen.target.name!r}, not {target!r}.")
    else:
        chosen = inferred or infer_schema(frame, str(target), task=task, drop=drop)
    table = Table.from_frame(frame, chosen.with_sensitive(sensitive))
    return Source(name=name, table=table, notes=notes)


def _frame(data: Any) -> tuple[str, Any, None]:
    if not isinstance(data, str | Path):
        return "frame", as_frame(data), None
    path = Path(data)
    if not path.exists() and not path.suffix and len(path.parts) == 1:
        guess = nearest(str(data), DATASETS)
        hint = f" Did you mean {guess!r}?" if guess else ""
        raise InputError(
            f"There is no file and no data set named {str(data)!r}; data sets are: {', '.join(DATASETS)}.{hint}"
        )
    return path.stem, read_frame(path), None
