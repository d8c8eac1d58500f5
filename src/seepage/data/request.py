"""What a user says about the table. Light: it is loaded with the command line's help."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict

from seepage._core import InputError, unknown_name
from seepage._core.option import MAIN, Option

TABLE = "The table"
TASKS = ("binary", "multiclass", "regression")


def _datasets() -> Mapping[str, Any]:
    from seepage.data.registry import DATASETS

    return DATASETS


def _is_dataset(name: str) -> bool:
    from seepage.data.registry import is_dataset

    return is_dataset(name)


class Request(BaseModel):
    """What the user said about the table."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    data: Annotated[
        Any, Option(help="A data set's name (see `seepage data list`), or a CSV or Parquet file.", group=MAIN)
    ] = None
    target: Annotated[str | None, Option(help="The column to predict; named data sets know theirs.", group=MAIN)] = None
    task: Annotated[str | None, Option(help="binary, multiclass or regression; guessed if not given.", group=TABLE)] = (
        None
    )
    drop: Annotated[tuple[str, ...], Option(help="Columns to leave out, separated by commas.", group=TABLE)] = ()
    sensitive: Annotated[
        tuple[str, ...], Option(help="Columns to put first in the report, separated by commas.", group=TABLE)
    ] = ()
    group: Annotated[
        str | None,
        Option(help="The column that says whose row it is: nobody's rows are in two parts of a split.", group=TABLE),
    ] = None
    schema_file: Annotated[
        Path | None,
        Option(help="A schema file (see `seepage data schema`).", group=TABLE, flag="--schema", one="schema"),
    ] = None
    path: Annotated[Path | None, Option(help="Your own copy of a named data set.", group=TABLE)] = None
    fallback: Annotated[
        str | None, Option(help="A data set to use if the named one cannot be fetched.", group=TABLE)
    ] = None

    def model_post_init(self, context: Any, /) -> None:
        if self.task is not None and self.task not in TASKS:
            raise unknown_name("task", str(self.task), TASKS)
        if self.fallback is not None and not _is_dataset(self.fallback):
            raise unknown_name("fallback data set", self.fallback, _datasets())
        if self.path is not None and not self.named:
            raise InputError("--path is your own copy of a named data set; give your own table with --data.")

    @property
    def named(self) -> bool:
        """Whether a data set is asked for by name."""
        return isinstance(self.data, str) and _is_dataset(self.data)

    @property
    def facts(self) -> dict[str, Any]:
        """As it is written down: equal for equal tables, however they were given."""
        return {name: _canonical(getattr(self, name)) for name in sorted(Request.model_fields)}


def _canonical(value: Any) -> Any:
    """A value of a request as it is written down; a frame by its content."""
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, tuple | list):
        return [_canonical(entry) for entry in value]
    if isinstance(value, Path):
        return str(value)
    from seepage.data.frames import as_frame

    frame = as_frame(value)
    return {"columns": frame.columns, "rows": frame.height, "hash": str(frame.hash_rows(seed=0).sum())}
