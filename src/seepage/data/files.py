"""Files in, as they are: compression, encoding and separator are found, and said; no cell is understood here.

A file becomes a :class:`RawTable`: text in every column (CSV), or what its format says (Parquet, Excel). What the text
means is decided in :mod:`seepage.data.reading`. What is unpacked is bounded: a small file cannot fill the memory.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import polars as pl

from seepage._core import InputError
from seepage.data.apart import survives

_MARKS = ["?", "NA"]
EMPTY = ["", *_MARKS]  # how an empty cell is written in CSV files
_TOLD = 5  # columns that a note names
_SAMPLE = 200  # cells that are looked at
PANIC = pl.exceptions.PanicException  # a bug of the reader that a damaged file found; no Exception, so named apart
MAX_UNPACKED = 1 << 30  # bytes of a compressed file after unpacking
SEPARATORS = ",;\t|"
PACKED = (".gz", ".zst", ".zstd")
PARQUET = (".parquet", ".pq")
EXCEL = (".xlsx", ".xlsm")
_CHUNK = 1 << 20
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_SEPARATOR_LINE = re.compile(r"\A[\"']?sep=([,;\t|])[\"']?[ \t]*\r?\n", re.I)
_ENCODINGS = {
    codecs.BOM_UTF8: ("utf-8", ""),
    codecs.BOM_UTF16_LE: ("utf-16-le", "UTF-16"),
    codecs.BOM_UTF16_BE: ("utf-16-be", "UTF-16"),
}


@dataclass(frozen=True, kw_only=True)
class RawTable:
    """A file's cells before anybody asked what they mean.

    Args:
        frame: text in every column, or typed columns where the format has types.
        separator: of a text file; empty for other formats.
        notes: sentences about what was found in the file.
    """

    frame: pl.DataFrame
    separator: str = ""
    notes: tuple[str, ...] = ()


def read_raw(path: Path) -> RawTable:
    """The cells of a CSV (plain, .gz, .zst), Parquet or Excel file."""
    if not path.exists():
        raise InputError(f"There is no file {path}.")
    if path.is_dir():
        raise InputError(f"{path} is a folder; give a CSV, Excel or Parquet file.")
    ending = path.suffix.lower()
    if ending in PARQUET:
        if not survives(path):
            raise InputError(f"{path} is not a Parquet table: it is damaged, so that its reader died.")
        try:
            return RawTable(frame=pl.read_parquet(path, glob=False))
        except (pl.exceptions.PolarsError, OSError) as error:
            raise InputError(f"{path} is not a Parquet table: {first_line(error)}") from None
        except PANIC:
            raise InputError(f"{path} is not a Parquet table: it is damaged, so that its reader gave up.") from None
    if ending in EXCEL:
        from seepage.data.excel import read_excel  # few tables need it

        frame, notes = read_excel(path)
        return RawTable(frame=frame, notes=notes)
    if ending in (".xls", ".xlsb", ".ods"):
        raise InputError(f"{path} is of a format that is not read; save it as .xlsx or as CSV.")
    return _read_text(path)


def table_name(path: Path) -> str:
    """The name of a table by its file: ``rows.csv.gz`` is ``rows``."""
    return Path(path.stem).stem if path.suffix.lower() in PACKED else path.stem


def _read_text(path: Path) -> RawTable:
    content = unpacked(path)
    text, encoding = _decoded(content, path)
    notes = [f"The file is read as {encoding}."] if encoding else []
    said = _SEPARATOR_LINE.match(text)
    if said:
        text = text[said.end() :]
        notes.append("The first line is Excel's (sep=), not a row.")
    first = next(iter(text[:_CHUNK].splitlines()), "")
    if not first.strip() or _CONTROL.search(text[:65536]):
        raise InputError(f"{path} is not a table: its first line is empty.")
    separator = said[1] if said else _separator(text[:65536].splitlines()[:50])
    header = next(csv.reader([first], delimiter=separator))
    if len(header) < 2:
        raise InputError(f"{path} is not a table: its first line has only one column.")
    check_no_duplicates([name.strip() for name in header], str(path))
    try:
        # As text first: polars' own guess over all rows reads the file twice and takes four times as long.
        frame = pl.read_csv(
            io.BytesIO(text.encode()) if encoding or said else content,
            separator=separator, null_values=[""], infer_schema=False,
        )  # fmt: skip
    except pl.exceptions.PolarsError as error:
        raise InputError(f"{path} is not a table: {first_line(error)}") from None
    except PANIC:
        raise InputError(f"{path} is not a table: its reader gave up on it.") from None
    frame, marked = _without_marks(frame)
    frame = frame.filter(~pl.all_horizontal(pl.all().is_null()))  # a blank line, usually the last, is no row
    return RawTable(frame=frame, separator=separator, notes=(*notes, *marked))


def _without_marks(frame: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    """Cells that say NA or ? are empty. Among words NA may be one (Namibia, North America), so that is told."""
    text = pl.col(pl.String)
    cells = text.str.strip_chars()
    counts = frame.select((cells == "NA").sum()).row(0)
    frame = frame.with_columns(pl.when(cells.is_in(_MARKS)).then(None).otherwise(text).name.keep())
    found = [
        f"{name!r} ({count:,})"
        for name, count in zip(frame.columns, counts, strict=True)
        if count and _are_words(frame[name])
    ]
    more = f" and {len(found) - _TOLD} more columns" if len(found) > _TOLD else ""
    note = f"Cells that say NA count as empty: {', '.join(found[:_TOLD])}{more}."
    return frame, [note] if found else []


def _are_words(series: pl.Series) -> bool:
    """Whether most of the first cells have a letter."""
    share = series.drop_nulls().head(_SAMPLE).str.contains(r"\p{L}").mean()
    return isinstance(share, float) and share > 0.5


def unpacked(path: Path) -> bytes:
    """The bytes of a file, unpacked if its name ends in .gz or .zst, up to a limit."""
    ending = path.suffix.lower()
    try:
        if ending not in PACKED:
            return path.read_bytes()
        with path.open("rb") as stream:
            return b"".join(_bounded(_unpacking(stream, ending), path))
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise InputError(f"{path} is damaged: it cannot be unpacked.") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {(error.strerror or 'it is damaged').lower()}.") from None


def _unpacking(stream: BinaryIO, ending: str) -> Iterable[bytes]:
    if ending == ".gz":
        with gzip.open(stream) as opened:
            while chunk := opened.read(_CHUNK):
                yield chunk
        return
    import zstandard

    try:
        with zstandard.ZstdDecompressor().stream_reader(stream, read_across_frames=True) as reader:
            while chunk := reader.read(_CHUNK):
                yield chunk
    except zstandard.ZstdError:
        raise EOFError from None


def _bounded(chunks: Iterable[bytes], path: Path) -> Iterable[bytes]:
    total = 0
    for chunk in chunks:
        total += len(chunk)
        if total > MAX_UNPACKED:
            raise InputError(
                f"{path} unpacks to more than {MAX_UNPACKED >> 20:,} MB; unpack it yourself if that is meant, or give "
                "fewer rows."
            )
        yield chunk


def _decoded(content: bytes, path: Path) -> tuple[str, str]:
    """The text, and the encoding if it has to be said (UTF-8 has not)."""
    for mark, (encoding, said) in _ENCODINGS.items():
        if content.startswith(mark):
            try:
                return content[len(mark) :].decode(encoding), said
            except UnicodeDecodeError:
                raise InputError(f"{path} is not a table: it begins like {said or 'UTF-8'} text and is not.") from None
    head = content[:4096]
    if head.count(0) > len(head) // 4 and len(content) % 2 == 0:  # every other byte of Western UTF-16 is zero
        encoding = "utf-16-le" if head[1::2].count(0) >= head[::2].count(0) else "utf-16-be"
        try:
            return content.decode(encoding), "UTF-16"
        except UnicodeDecodeError:
            pass
    if b"\0" in content:
        raise InputError(f"{path} is not a table: it is neither text (CSV) nor named .parquet or .xlsx.")
    try:
        return content.decode(), ""
    except UnicodeDecodeError:
        pass
    try:
        return content.decode("cp1252"), "Windows-1252 (Latin-1), because it is not UTF-8"
    except UnicodeDecodeError:
        return content.decode("latin-1"), "Latin-1, because it is not UTF-8"


def _separator(lines: list[str]) -> str:
    """The separator that cuts most of the first lines into as many cells as the first; of several, the one that cuts
    more.
    """

    def fit(separator: str) -> tuple[float, int]:
        try:
            widths = [len(row) for row in csv.reader(lines, delimiter=separator) if row]
        except csv.Error:
            return 0.0, 0
        if not widths or widths[0] < 2:
            return 0.0, 0
        return sum(width == widths[0] for width in widths) / len(widths), widths[0]

    return max(SEPARATORS, key=fit)


def check_no_duplicates(names: list[str], where: str) -> None:
    """Stop at a table in which two columns have one name. A first line with numbers in it may be a row: it stays
    unsaid.
    """
    seen: dict[str, int] = {}
    for place, name in enumerate(names, start=1):
        if name in seen:
            if any(map(is_number, names)):
                raise InputError(
                    f"{where} has one name for columns {seen[name]} and {place}; give each its own name, in the first "
                    "line."
                )
            raise InputError(f"{where} has more than one column named {name!r}; give each its own name.")
        seen[name] = place


def is_number(name: str) -> bool:
    """Whether a column's name reads as a number: it may be a cell of a file that has no line with names."""
    try:
        float(name.replace(",", "."))
    except ValueError:
        return False
    return True


def first_line(error: Exception) -> str:
    """What a library said, as one sentence."""
    return str(error).strip().splitlines()[0].rstrip(".") + "."
