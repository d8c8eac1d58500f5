"""Somebody's own table, a file or a frame: opened, and every column read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from seepage._core import InputError, nearest
from seepage.data.files import is_number, read_raw, table_name
from seepage.data.frames import as_frame, as_numbers_if_it_reads_so, checked
from seepage.data.read_column import Reading
from seepage.data.reading import read_columns
from seepage.data.schema import Schema

_LOOKED_AT = 10_000  # cells of a column


@dataclass(frozen=True, kw_only=True)
class OwnTable:
    """A table before it has a schema.

    Args:
        name: the file's, without its endings.
        written: the cells as they stand in the file.
        readings: what they were read as; columns that the user left out have none.
        separator: of a text file.
        notes: sentences about the file.
    """

    name: str
    written: pl.DataFrame
    readings: tuple[Reading, ...]
    separator: str = ""
    notes: tuple[str, ...] = ()

    @property
    def frame(self) -> pl.DataFrame:
        """The cells as they were read."""
        return self.written.with_columns(reading.values for reading in self.readings)

    def plainly(self, name: str) -> pl.Series:
        """A column of keys: as it is written, whole numbers as such."""
        return as_numbers_if_it_reads_so(self.written[name])


def open_own(data: Any, said: Mapping[str, str], named: Iterable[str] = ()) -> OwnTable:
    """Open a file or a frame and read its columns.

    Args:
        data: a path, or a polars or pandas frame.
        said: how the user wants columns to be read.
        named: other columns that the user names.
    """
    if isinstance(data, str | Path):
        path = there(Path(data))
        raw = read_raw(path)
        name, separator, notes = table_name(path), raw.separator, raw.notes
        written = checked(raw.frame, str(path), dates=True)
        if separator:
            check_headed(written, name, (*said, *named))
        if all(is_number(each) for each in written.columns):
            notes += ("Every column is named by a number: does the file have a line with names?",)
    else:
        name, separator, notes, written = "frame", "", (), as_frame(data, dates=True)
    readings = read_columns(written, said, separator)
    return OwnTable(name=name, written=written, readings=tuple(readings), separator=separator, notes=notes)


def read_own_frame(path: Path, *, keep: tuple[str, ...] = ()) -> pl.DataFrame:
    """The cells of a file as they are read; some columns only plainly, because tables are joined by them."""
    own = open_own(path, {}, keep[:1])
    return own.frame.with_columns(own.plainly(name) for name in keep if name in own.written.columns)


def check_headed(written: pl.DataFrame, table: str, names: Iterable[str]) -> None:
    """Stop if one of the columns that a user names is not there, in a file that seems to have no line with names.

    The first row is private, and a sentence that lists the columns would print it.
    """
    absent = [name for name in names if name not in written.columns]
    if absent and is_headless(written):
        raise InputError(
            f"There is no column {absent[0]!r}, and the table {table!r} seems to have no line with names: its first "
            "line looks like a row. Write the columns' names there."
        )


def is_headless(frame: pl.DataFrame) -> bool:
    """Whether the names of all columns that can tell are like their cells: numbers, or a category of the column."""
    like, unlike = 0, 0
    for name in frame.columns:
        cells = frame[name].drop_nulls().head(_LOOKED_AT)
        if cells.dtype != pl.String or not len(cells):
            continue
        if is_number(name):
            like += 1
        elif as_numbers_if_it_reads_so(cells).dtype.is_numeric():
            unlike += 1
        elif cells.n_unique() <= len(cells) // 2:
            like, unlike = like + (name in cells), unlike + (name not in cells)
    return like > 0 and unlike == 0


def fitted(own: OwnTable, schema: Schema, said: Mapping[str, str]) -> OwnTable:
    """The same table, read as a schema has it where the guess was another.

    Args:
        schema: of a file of the user.
        said: what was asked for already; it stays.
    """
    other: dict[str, str] = {}
    by_name = {reading.name: reading for reading in own.readings}
    for column in schema.columns:
        reading = by_name.get(column.name)
        if reading is None or column.name in said:
            continue
        numbers = reading.values.dtype.is_numeric()
        if column.is_numeric and not numbers:
            other[column.name] = "number"
        elif not column.is_numeric and numbers and reading.word:  # written otherwise than plain numbers
            other[column.name] = "category"
    if not other:
        return own
    readings = read_columns(own.written, {**said, **other}, own.separator)
    return replace(own, readings=tuple(readings))


def read_again(
    own: OwnTable, words: Mapping[str, str], said: Mapping[str, str], *, apart: Iterable[str | None]
) -> OwnTable:
    """The same table with columns read by these words.

    Args:
        words: for columns that need not be there.
        said: what the user asked for; it goes before.
        apart: columns that are no inputs.
    """
    inputs = set(own.written.columns) - set(apart)
    wanted = {name: word for name, word in words.items() if name in inputs} | dict(said)
    return replace(own, readings=tuple(read_columns(own.written, wanted, own.separator)))


def there(path: Path) -> Path:
    """The path; a word that is neither a file nor a data set is told with the nearest data set."""
    if not path.exists() and not path.suffix and len(path.parts) == 1:
        from seepage.data.registry import DATASETS

        guess = nearest(str(path), DATASETS)
        hint = f" Did you mean {guess!r}?" if guess else ""
        raise InputError(
            f"There is no file and no data set named {str(path)!r}; data sets are: {', '.join(DATASETS)}.{hint}"
        )
    if not path.exists():
        raise InputError(f"There is no file {path}.")
    return path
