"""Excel workbooks in: the first sheet that has cells, with the types that its cells have."""

from __future__ import annotations

import datetime
import re
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from seepage._core import InputError

MAX_BYTES = 1 << 30  # of all parts of a workbook after unpacking
MAX_CELLS = 30_000_000  # rows x columns of the area a sheet spans
_CHUNK = 1 << 22
_PLACE = re.compile(rb"""\sr\s*=\s*["']([A-Z]{1,3})(\d{1,7})["']""")
_ERROR = re.compile(r"#(N/A|DIV/0!|REF!|VALUE!|NAME\?|NUM!|NULL!)")


def read_excel(path: Path) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """The cells of a workbook, and sentences about what was read of it."""
    _check_size(path)
    from python_calamine import CalamineError, CalamineWorkbook, PasswordError

    notes = []
    try:
        with CalamineWorkbook.from_path(str(path)) as book:
            for name in book.sheet_names:
                rows = book.get_sheet_by_name(name).to_python(skip_empty_area=True)
                if rows:
                    break
            else:
                raise InputError(f"{path} is not a table: its sheets are empty.")
            if len(book.sheet_names) > 1:
                notes.append(f"Of {len(book.sheet_names)} sheets the first with cells is read ({name!r}).")
    except PasswordError:
        raise InputError(f"{path} is protected by a password; save it without one.") from None
    except (CalamineError, OSError, ValueError) as error:
        raise InputError(f"{path} is not an Excel workbook: {str(error).splitlines()[0]}.") from None
    title = next((place for place, row in enumerate(rows[:20]) if _filled(row) > 1), 0)
    if title:
        what = "line" if title == 1 else "lines"
        notes.append(f"{title} {what} above the names of the columns {'is' if title == 1 else 'are'} not read.")
    return _frame(rows[title:], path), tuple(notes)


def _filled(row: Sequence[object]) -> int:
    return sum(cell not in ("", None) for cell in row)


def _frame(rows: Sequence[Sequence[object]], path: Path) -> pl.DataFrame:
    from seepage.data.files import check_no_duplicates

    names = [_text(cell) or "" for cell in rows[0]]
    while names and not names[-1] and all(len(row) < len(names) or row[len(names) - 1] == "" for row in rows):
        names.pop()
    check_no_duplicates([name for name in names if name], str(path))
    body = [row for row in rows[1:] if _filled(row)]
    free = iter(f" {place}" for place in range(len(names)))  # no names; given ones later, as in other files
    cells = {name or next(free): [row[place] for row in body] for place, name in enumerate(names)}
    return pl.DataFrame([_series(name, column) for name, column in cells.items()])


def _series(name: str, cells: list[object]) -> pl.Series:
    """A column by the types of its cells; of different types, all as text."""
    cells = [None if cell == "" or (isinstance(cell, str) and _ERROR.fullmatch(cell)) else cell for cell in cells]
    kinds = {type(cell) for cell in cells if cell is not None}
    if kinds and kinds <= {int, float}:
        numbers = pl.Series(name, cells, dtype=pl.Float64, strict=False)
        whole = bool((numbers.drop_nulls() % 1 == 0).all()) and bool((numbers.drop_nulls().abs() < 2**53).all())
        return numbers.cast(pl.Int64) if whole else numbers
    if kinds and kinds <= {datetime.date, datetime.datetime}:
        moments = [
            datetime.datetime(*cell.timetuple()[:6]) if isinstance(cell, datetime.date) else None for cell in cells
        ]
        series = pl.Series(name, moments, dtype=pl.Datetime("us"))
        return series if (series.drop_nulls().dt.time() != datetime.time()).any() else series.cast(pl.Date)
    if len(kinds) == 1 and kinds <= {bool, datetime.time, datetime.timedelta}:
        return pl.Series(name, cells)
    return pl.Series(name, [_text(cell) for cell in cells], dtype=pl.String)


def _text(cell: object) -> str | None:
    """A cell as a CSV file would have it."""
    if cell is None or cell == "":
        return None
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 2**53:
        return str(int(cell))
    return str(cell).strip() or None


class _Span:
    """The area that a sheet's cells span, counted from its bytes as they come."""

    def __init__(self) -> None:
        self.rows = self.columns = 0
        self._counted = 0
        self._rest = b""

    def see(self, chunk: bytes) -> None:
        """Count a piece of the sheet; the row it ends in is seen again with the next piece."""
        content = self._rest + chunk
        for letters, number in set(_PLACE.findall(content)):
            self.rows = max(self.rows, int(number))
            self.columns = max(self.columns, _column(letters))
        lines = content.split(b"<row")  # cells may also stand without a place, one after the other
        self.columns = max(
            self.columns, *(line.count(b"<c ") + line.count(b"<c>") + line.count(b"<c/") for line in lines)
        )
        self._counted += len(lines) - 1 - self._rest.startswith(b"<row")
        self.rows = max(self.rows, self._counted)
        last = b"<row" + lines[-1] if len(lines) > 1 else lines[-1]
        self._rest = last if len(last) < _CHUNK else last[-64:]


def _column(letters: bytes) -> int:
    place = 0
    for letter in letters:
        place = 26 * place + letter - 64
    return place


def _check_size(path: Path) -> None:
    """Stop at a workbook that would not fit: its parts are unpacked once, counted and thrown away.

    What the archive says about its sizes is not trusted, and neither is a sheet's own word for the area it spans: one
    cell in the last corner makes a reader reserve all cells before it.
    """
    total = 0
    try:
        with zipfile.ZipFile(path) as archive:
            for part in archive.infolist():
                span = _Span()
                with archive.open(part) as stream:
                    while chunk := stream.read(_CHUNK):
                        total += len(chunk)
                        if total > MAX_BYTES:
                            raise InputError(f"{path} unpacks to more than {MAX_BYTES >> 20:,} MB; save it as CSV.")
                        if "worksheets/" in part.filename:
                            span.see(chunk)
                if span.rows * span.columns > MAX_CELLS:
                    raise InputError(
                        f"A sheet of {path} spans {span.rows:,} rows x {span.columns:,} columns; save the part that is "
                        "the table as CSV."
                    )
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError):
        raise InputError(f"{path} is not an Excel workbook: it is damaged or of another format.") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {(error.strerror or 'it is damaged').lower()}.") from None
