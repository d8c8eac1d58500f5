"""What a user says about the table. Light: it is loaded with the command line's help."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, field_validator

from seepage._core import InputError, unknown_name
from seepage._core.option import MAIN, Option
from seepage._core.paths import user_path

TABLE = "The table"
TASKS = ("binary", "multiclass", "regression")
WORDS = {
    "number": "a number; cells that are none become empty",
    "decimal_point": "a number; a point is the decimal sign, commas group thousands",
    "decimal_comma": "a number; a comma is the decimal sign, points group thousands",
    "category": "a category, whatever the cells look like",
    "date": "a date, with or without a time of day; becomes a whole number of days, minutes or seconds",
    "day_first": "a date whose day comes before its month",
    "month_first": "a date whose month comes before its day",
    "time": "a time of day; becomes minutes or seconds since midnight",
    "leave_out": "not used",
}  # how a column may be asked to be read


def check_there(data: object) -> None:
    """Stop at a file that is not there before anything heavy is loaded; what may name a data set is looked up later."""
    if not isinstance(data, str | Path) or (isinstance(data, str) and ":" in data):
        return
    path = user_path(data)
    if (path.suffix or len(path.parts) > 1) and not path.exists():
        raise InputError(f"There is no file {path}.")


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
        Any, Option(help="A data set's name (see `seepage data list`), or a CSV, Excel or Parquet file.", group=MAIN)
    ] = None
    target: Annotated[str | None, Option(help="The column to predict; named data sets know theirs.", group=MAIN)] = None
    task: Annotated[str | None, Option(help="binary, multiclass or regression; guessed if not given.", group=TABLE)] = (
        None
    )
    drop: Annotated[tuple[str, ...], Option(help="Columns to leave out, separated by commas.", group=TABLE)] = ()
    read_as: Annotated[
        dict[str, str],
        Option(
            help=f"How to read a column, if the guess is wrong: {', '.join(WORDS)}. May be repeated.",
            group=TABLE,
            flag="--as",
            one="as",
        ),
    ] = {}
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
    preprocessing: Annotated[
        Any,
        Option(
            help="A file of what all clients do to their columns (see `docs/how-to/own-model.md`); in Python also a "
            "fitted scikit-learn preprocessor.",
            group=TABLE,
        ),
    ] = None
    path: Annotated[Path | None, Option(help="Your own copy of a named data set.", group=TABLE)] = None
    fallback: Annotated[
        str | None, Option(help="A data set to use if the named one cannot be fetched.", group=TABLE)
    ] = None

    @field_validator("preprocessing", mode="before")
    @classmethod
    def _as_facts(cls, given: Any) -> Any:
        """A fitted preprocessor becomes its facts at once: those can be sent to other processes, and compared."""
        if given is None or isinstance(given, str | Path):
            return given or None
        from seepage.data.prepared import as_preprocessing

        return as_preprocessing(given)

    def model_post_init(self, context: Any, /) -> None:
        for given in (self.data, self.schema_file, self.path, self.preprocessing):
            if isinstance(given, str | Path):
                user_path(given)
        if self.task is not None and self.task not in TASKS:
            raise unknown_name("task", str(self.task), TASKS)
        if self.fallback is not None and not _is_dataset(self.fallback):
            raise unknown_name("fallback data set", self.fallback, _datasets())
        for name, word in self.read_as.items():
            if word not in WORDS:
                raise unknown_name(f"reading of column {name!r}", word, WORDS)
        if self.path is not None and not self.named:
            raise InputError("--path is your own copy of a named data set; give your own table with --data.")

    def __hash__(self) -> int:  # workers keep opened tables by their requests
        values = (getattr(self, name) for name in Request.model_fields)
        return hash(tuple(tuple(sorted(value.items())) if isinstance(value, dict) else value for value in values))

    @property
    def named(self) -> bool:
        """Whether a data set is asked for by name."""
        return isinstance(self.data, str) and _is_dataset(self.data)

    @cached_property
    def facts(self) -> dict[str, Any]:
        """As it is written down: equal for equal tables, however they were given."""
        said = {name: _canonical(getattr(self, name)) for name in sorted(Request.model_fields)}
        # Tasks are named after this: nothing said must be what it was before the setting existed.
        return {name: value for name, value in said.items() if name not in ("read_as", "preprocessing") or value}


def _canonical(value: Any) -> Any:
    """A value of a request as it is written down; a frame by its content."""
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, tuple | list):
        return [_canonical(entry) for entry in value]
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, dict):
        return dict(sorted(value.items()))
    from seepage.data.frames import as_frame

    frame = as_frame(value, dates=True)
    return {"columns": frame.columns, "rows": frame.height, "hash": str(frame.hash_rows(seed=0).sum())}
