"""The messy tables: how each is written, and what every one of its columns must be.

A new kind of mess adds a :class:`Messy` to a list. Cells of a column are repeated until the table has enough rows.
What is expected of a column are its first values: numbers for a numeric column, text for a categorical one, ``OUT`` for
one that is left out. Long because it is a list.
"""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime

import polars as pl
import zstandard

from tests.tables.workbook import workbook

OUT = "left out"
ROWS = 60
Cells = Sequence[object] | Callable[[int], object]
Expected = Sequence[object] | str


@dataclass(frozen=True, kw_only=True)
class Messy:
    """One table.

    Args:
        name: what is messy.
        cells: column name -> cells, repeated; the target ``y`` is added.
        expected: column name -> first values, or ``OUT``.
        write: from names and rows to bytes.
        file: name of the file.
        note: a piece of a note that must be said; empty if none may be.
        said: what is overruled.
    """

    name: str
    cells: Mapping[str, Cells]
    expected: Mapping[str, Expected]
    write: Callable[[Sequence[str], Sequence[Sequence[object]]], bytes] = field(default=lambda names, rows: b"")
    file: str = "table.csv"
    note: str = ""
    said: Mapping[str, str] = field(default_factory=dict)

    @property
    def content(self) -> bytes:
        """The file."""
        cells: dict[str, Cells] = {**self.cells} if "y" in self.cells else {**self.cells, "y": ["0", "1", "1"]}
        rows = [[_cell(each, row) for each in cells.values()] for row in range(ROWS)]
        return self.write(list(cells), rows)


def _cell(cells: Cells, row: int) -> object:
    return cells(row) if callable(cells) else cells[row % len(cells)]


def text(
    separator: str = ",",
    encoding: str = "utf-8",
    before: str = "",
    after: str = "",
    packed: Callable[[bytes], bytes] = bytes,
) -> Callable[[Sequence[str], Sequence[Sequence[object]]], bytes]:
    """A writer of separated text; cells that need quotes get them."""

    def write(names: Sequence[str], rows: Sequence[Sequence[object]]) -> bytes:
        stream = io.StringIO()
        csv.writer(stream, delimiter=separator, lineterminator="\n").writerows([names, *rows])
        return packed((before + stream.getvalue() + after).encode(encoding))

    return write


def excel(before: Sequence[Sequence[object]] = (), other: str = "") -> Callable[..., bytes]:
    """A writer of a workbook; ``other`` is the name of an empty first sheet."""

    def write(names: Sequence[str], rows: Sequence[Sequence[object]]) -> bytes:
        return workbook({**({other: []} if other else {}), "table": [*before, list(names), *rows]})

    return write


def parquet(names: Sequence[str], rows: Sequence[Sequence[object]]) -> bytes:
    """A Parquet file."""
    stream = io.BytesIO()
    pl.DataFrame(rows, schema=list(names), orient="row").write_parquet(stream)
    return stream.getvalue()


def days(*moments: str) -> list[int]:
    """Days since 1970."""
    return [(date.fromisoformat(each) - date(1970, 1, 1)).days for each in moments]


def seconds(*moments: str) -> list[int]:
    """Seconds since 1970."""
    return [int((datetime.fromisoformat(each) - datetime(1970, 1, 1)).total_seconds()) for each in moments]


AGE = {"age": ["30", "41", "52", "30", "67"]}
AGES = {"age": [30, 41, 52, 30, 67]}
CITY = {"city": ["Köln", "Münster", "Kiel"]}

FILES = [
    Messy(name="commas", cells=AGE, expected=AGES, write=text()),
    Messy(name="semicolons", cells={**AGE, **CITY}, expected={**AGES, **CITY}, write=text(";")),
    Messy(name="tabs", cells={**AGE, **CITY}, expected={**AGES, **CITY}, write=text("\t"), file="table.tsv"),
    Messy(name="bars", cells={**AGE, **CITY}, expected={**AGES, **CITY}, write=text("|"), file="table.txt"),
    Messy(
        name="Latin-1", cells={**AGE, **CITY}, expected={**AGES, **CITY}, write=text(encoding="latin-1"), note="Latin-1"
    ),
    Messy(
        name="Windows-1252 with a euro sign",
        cells={"fee": ["5 €", "7 €", "11 €"], **CITY},
        expected={"fee": [5, 7, 11], **CITY},
        write=text(encoding="cp1252"),
        note="Windows-1252",
    ),
    Messy(name="UTF-8 with a mark", cells={**AGE, **CITY}, expected={**AGES, **CITY}, write=text(encoding="utf-8-sig")),
    Messy(
        name="UTF-16", cells={**AGE, **CITY}, expected={**AGES, **CITY}, write=text(encoding="utf-16"), note="UTF-16"
    ),
    Messy(
        name="UTF-16, big end first",
        cells={**AGE, **CITY},
        expected={**AGES, **CITY},
        write=text(encoding="utf-16-be", before="\ufeff"),
        note="UTF-16",
    ),
    Messy(
        name="UTF-16 without a mark, tabs",
        cells={**AGE, **CITY},
        expected={**AGES, **CITY},
        write=text("\t", encoding="utf-16-le"),
        note="UTF-16",
    ),
    Messy(name="gzip", cells=AGE, expected=AGES, write=text(packed=gzip.compress), file="table.csv.gz"),
    Messy(
        name="zstandard",
        cells=AGE,
        expected=AGES,
        write=text(packed=zstandard.ZstdCompressor().compress),
        file="table.csv.zst",
    ),
    Messy(
        name="gzip of Latin-1 with semicolons and decimal commas",
        cells={"dose": ["1,5", "2,25"], **CITY},
        expected={"dose": [1.5, 2.25], **CITY},
        write=text(";", "latin-1", packed=gzip.compress),
        file="t.csv.gz",
        note="Latin-1",
    ),
    Messy(
        name="Excel's first line",
        cells={"dose": ["1,5", "2,25"], **AGE},
        expected={"dose": [1.5, 2.25], **AGES},
        write=text(";", before="sep=;\n"),
        note="sep=",
    ),
    Messy(
        name="Excel's first line, against the look of the header",
        cells={"a,b,c": ["1", "2", "5"], **AGE},
        expected={"a,b,c": [1, 2, 5], **AGES},
        write=text(";", before='"sep=;"\r\n'),
        note="sep=",
    ),
    Messy(
        name="blank lines and blanks",
        cells={" age ": [" 30", "41 ", " 52 "], "ward": [" a", "b ", "c"]},
        expected={"age": [30, 41, 52], "ward": ["a", "b", "c"]},
        write=text(after="\n\n\n"),
    ),
    Messy(
        name="separators and line ends inside of quotes",
        cells={"who": ["a, b", "c; d", "e\nf"], **AGE},
        expected={"who": ["a, b", "c; d", "e\nf"], **AGES},
        write=text(),
    ),
    Messy(
        name="a separator at the end of every line",
        cells={**AGE, "y": ["0", "1"], "": [""]},
        expected={**AGES, "column_3": OUT},
        write=text(";"),
    ),
    Messy(
        name="an unnamed column that counts",
        cells={"": lambda row: row, **AGE},
        expected={"column_1": OUT, **AGES},
        write=text(),
    ),
]

EXCEL = [
    Messy(
        name="Excel: numbers, text, flags, empty cells",
        cells={
            "age": [30, None, 52.0, 41],
            "dose": [0.5, 1.25, 2],
            "city": ["Köln", None, "Kiel"],
            "smokes": [True, False],
        },
        expected={
            "age": [30, None, 52, 41],
            "dose": [0.5, 1.25, 2.0],
            "city": ["Köln", None, "Kiel"],
            "smokes": ["true", "false"],
        },
        write=excel(),
        file="table.xlsx",
    ),
    Messy(
        name="Excel: a title, and an empty sheet before",
        cells=AGE,
        expected=AGES,
        write=excel([["Patients of 2024"], []], other="about"),
        file="table.xlsx",
        note="above the names",
    ),
    Messy(
        name="Excel: dates and moments",
        cells={
            "born": [date(1980, 1, 2), date(1975, 12, 31)],
            "seen": [datetime(2024, 1, 2, 8, 30), datetime(2024, 1, 3)],
        },
        expected={
            "born": days("1980-01-02", "1975-12-31"),
            "seen": [each // 60 for each in seconds("2024-01-02T08:30", "2024-01-03")],
        },
        write=excel(),
        file="table.xlsx",
    ),
    Messy(
        name="Excel: codes as text, and an error of a formula",
        cells={"zip": ["01234", "20095", "01067"], "sum": [1.5, "#N/A", 2.5]},
        expected={"zip": ["01234", "20095", "01067"], "sum": [1.5, None, 2.5]},
        write=excel(),
        file="table.xlsx",
    ),
    Messy(
        name="Excel: numbers and a word in one column",
        cells={"dose": lambda row: "unknown" if row % 10 == 1 else row % 7, **AGE},
        expected={"dose": [0, None, 2], **AGES},
        write=excel(),
        file="table.xlsx",
        note="say that nothing is known",
    ),
    Messy(
        name="Parquet: dates, and flags",
        cells={"born": [date(1980, 1, 2), date(1975, 12, 31), None], "ok": [True, False], "y": [0, 1]},
        expected={"born": [*days("1980-01-02", "1975-12-31"), None], "ok": ["true", "false"]},
        write=parquet,
        file="table.parquet",
    ),
]

NUMBERS = [
    Messy(
        name="1.234,56",
        cells={"sum": ["1.234,56", "7,5", "12.345.678,9"], **AGE},
        expected={"sum": [1234.56, 7.5, 12345678.9], **AGES},
        write=text(";"),
    ),
    Messy(
        name="1,234.56",
        cells={"sum": ["1,234.56", "7.5", "12,345,678.9"], **AGE},
        expected={"sum": [1234.56, 7.5, 12345678.9], **AGES},
        write=text(),
    ),
    Messy(
        name="1 234 with all kinds of blanks",
        cells={"sum": ["1 234", "5\u00a0678", "9\u202f012,5", "7"], **AGE},
        expected={"sum": [1234, 5678, 9012.5, 7], **AGES},
        write=text(";"),
    ),
    Messy(
        name="1'234.50",
        cells={"sum": ["1'234.50", "17.05", "2’000’000.00"], **AGE},
        expected={"sum": [1234.5, 17.05, 2000000.0], **AGES},
        write=text(";"),
    ),
    Messy(
        name="1.234.567 without decimals",
        cells={"sum": ["1.234.567", "890.123", "45"], **AGE},
        expected={"sum": [1234567, 890123, 45], **AGES},
        write=text(";"),
    ),
    Messy(
        name="1.234 and nothing to decide it",
        cells={"x": ["1.234", "56.789", "100.001"], **AGE},
        expected={"x": [1.234, 56.789, 100.001], **AGES},
        write=text(),
        note="--as x=decimal_comma",
    ),
    Messy(
        name="1.234 beside a column with decimal commas",
        cells={"x": ["1.234", "56.789", "7"], "dose": ["1,5", "2,25"]},
        expected={"x": [1234, 56789, 7], "dose": [1.5, 2.25]},
        write=text(";"),
    ),
    Messy(
        name="1.234 beside 0.250",
        cells={"x": ["1.234", "0.250", "2.125"], **AGE},
        expected={"x": [1.234, 0.25, 2.125], **AGES},
        write=text(),
    ),
    Messy(
        name="1.234 beside 5000",
        cells={"x": ["1.234", "5000", "2.125"], **AGE},
        expected={"x": [1.234, 5000, 2.125], **AGES},
        write=text(),
    ),
    Messy(
        name="1,234 in a file of commas",
        cells={"x": ["1,234", "56,789", "99"], **AGE},
        expected={"x": [1234, 56789, 99], **AGES},
        write=text(),
        note="--as x=decimal_comma",
    ),
    Messy(
        name="1,234 in a file of semicolons",
        cells={"x": ["1,234", "56,789", "99"], **AGE},
        expected={"x": [1.234, 56.789, 99], **AGES},
        write=text(";"),
        note="--as x=decimal_point",
    ),
    Messy(
        name="percent",
        cells={"rate": ["12.5 %", "7%", "100 %"], "share": ["0.5%", "1.25%"]},
        expected={"rate": [12.5, 7, 100], "share": [0.5, 1.25]},
        write=text(),
    ),
    Messy(
        name="percent with decimal commas",
        cells={"rate": ["12,5 %", "7 %", "100 %"], **AGE},
        expected={"rate": [12.5, 7, 100], **AGES},
        write=text(";"),
    ),
    Messy(
        name="percent in some cells",
        cells={"rate": ["12.5 %", "7", "100 %"], **AGE},
        expected={"rate": [12.5, 7, 100], **AGES},
        write=text(),
        note="percent sign",
    ),
    Messy(
        name="currencies before and after",
        cells={"a": ["€ 1.250,00", "€ 3,50"], "b": ["12,50 EUR", "7,00 EUR"], "c": ["CHF 5", "CHF 11"]},
        expected={"a": [1250.0, 3.5], "b": [12.5, 7.0], "c": ["5", "11"]},
        write=text(";"),
    ),
    Messy(
        name="dollars, and brackets for minus",
        cells={"x": ["$1,200.50", "($35.25)", "-$7.00", "$-8"], **AGE},
        expected={"x": [1200.5, -35.25, -7.0, -8.0], **AGES},
        write=text(),
    ),
    Messy(
        name="a printed minus, and a plus",
        cells={"x": ["−5", "+7", "–2.5"], **AGE},
        expected={"x": [-5, 7, -2.5], **AGES},
        write=text(),
    ),
    Messy(
        name="powers of ten",
        cells={"x": ["1e-3", "2.5E+2", "7"], **AGE},
        expected={"x": [0.001, 250, 7], **AGES},
        write=text(),
    ),
    Messy(
        name="words for nothing",
        cells={"x": ["5", "unknown", "7", "-", "k.A.", "9"], **AGE},
        expected={"x": [5, None, 7, None, None, 9], **AGES},
        write=text(),
        note="say that nothing is known",
    ),
    Messy(
        name="N/A, NULL, NaN and ?",
        cells={"x": ["5", "N/A", "7", "NULL", "NaN", "9", "?"], "ward": ["a", "n/a", "b"]},
        expected={"x": [5, None, 7, None, None, 9, None], "ward": ["a", None, "b"]},
        write=text(),
    ),
    Messy(
        name="NA among words, which may be one",
        cells={"region": ["EU", "NA", "AS"], "x": ["5", "NA", "7", "9"]},
        expected={"region": ["EU", None, "AS"], "x": [5, None, 7, 9]},
        write=text(),
        note="Cells that say NA count as empty: 'region' (20).",
    ),
    Messy(
        name="numbers that no integer holds",
        cells={"x": ["99999999999999999999", "5"], **AGE},
        expected={"x": ["1e+20", "5.0"], **AGES},
        write=text(),
    ),
    Messy(name="NaN alone", cells={"x": ["5", "nan", "7", "8"]}, expected={"x": [5, None, 7, 8]}, write=text()),
    Messy(
        name="a few cells that are no numbers",
        cells={"dose": lambda row: "broken" if row == 3 else row * 3, **AGE},
        expected={"dose": [0, 3, 6, None, 12], **AGES},
        write=text(),
        note="--as dose=category",
    ),
    Messy(
        name="half numbers, half words",
        cells={"mark": ["1", "2", "good", "bad"], **AGE},
        expected={"mark": ["1", "2", "good", "bad"], **AGES},
        write=text(),
    ),
]

CODES = [
    Messy(
        name="postcodes with leading zeros",
        cells={"plz": ["01067", "20095", "80331"], **AGE},
        expected={"plz": ["01067", "20095", "80331"], **AGES},
        write=text(),
    ),
    Messy(
        name="postcodes by their name",
        cells={"zip_code": ["69001", "20095", "80331"], "size": ["69001", "20095", "80331"]},
        expected={"zip_code": ["69001", "20095", "80331"], "size": [69001, 20095, 80331]},
        write=text(),
    ),
    Messy(
        name="codes with leading zeros",
        cells={"unit": ["007", "010", "123"], "icd": ["E11.9", "I10", "J45.0"]},
        expected={"unit": ["007", "010", "123"], "icd": ["E11.9", "I10", "J45.0"]},
        write=text(),
    ),
    Messy(
        name="yes and no in six languages of two words",
        cells={
            "a": ["yes", "no"],
            "b": ["true", "false"],
            "c": ["ja", "nein"],
            "d": ["Y", "N"],
            "e": ["t", "f"],
            "f": ["0", "1"],
            "g": ["oui", "non"],
        },
        expected={
            "a": ["yes", "no"],
            "b": ["true", "false"],
            "c": ["ja", "nein"],
            "d": ["Y", "N"],
            "e": ["t", "f"],
            "f": ["0", "1"],
            "g": ["oui", "non"],
        },
        write=text(),
    ),
    Messy(
        name="yes and no in many spellings",
        cells={"a": ["yes", "No", "Y", "TRUE", "0", "ja", "nein", ""], **AGE},
        expected={"a": ["yes", "no", "yes", "yes", "no", "yes", "no", None], **AGES},
        write=text(),
    ),
    Messy(
        name="letters that are no answers",
        cells={"a": ["t", "f", "y", "n"], "sex": ["m", "f"]},
        expected={"a": ["t", "f", "y", "n"], "sex": ["m", "f"]},
        write=text(),
    ),
    Messy(
        name="keys: counting, long, by name, by text",
        cells={
            "nr": lambda row: 5000 + row,
            "phone": lambda row: 491_700_000_000 + 7919 * row * row,
            "patient_id": lambda row: 31 * row,
            "uuid": lambda row: f"{row:032x}",
            **AGE,
        },
        expected={"nr": OUT, "phone": OUT, "patient_id": OUT, "uuid": OUT, **AGES},
        write=text(),
    ),
    Messy(
        name="names and free text",
        cells={
            "name": lambda row: f"Person {row - row % 7}{row}",
            "note": lambda row: f"seen {row % 55} days ago",
            **AGE,
        },
        expected={"name": OUT, "note": OUT, **AGES},
        write=text(),
    ),
    Messy(
        name="a key that has leading zeros",
        cells={"case": lambda row: f"{row * 17:06d}", **AGE},
        expected={"case": OUT, **AGES},
        write=text(),
    ),
    Messy(
        name="constants and empty columns",
        cells={"year": ["2024"], "gone": [""], "na": ["N/A"], **AGE},
        expected={"year": OUT, "gone": OUT, "na": OUT, **AGES},
        write=text(),
    ),
    Messy(
        name="rows without a target",
        cells={**AGE, "y": ["0", "1", "1", "", "NULL"]},
        expected={"age": [30, 41, 52, 30, 41]},
        write=text(),
        note="24 of 60 rows have no target",
    ),
]

DATES = [
    Messy(
        name="2024-01-31",
        cells={"day": ["2024-01-31", "1999-12-01", ""], **AGE},
        expected={"day": [*days("2024-01-31", "1999-12-01"), None], **AGES},
        write=text(),
    ),
    Messy(
        name="31.01.2024",
        cells={"day": ["31.01.2024", "01.12.1999"], **AGE},
        expected={"day": days("2024-01-31", "1999-12-01"), **AGES},
        write=text(";"),
    ),
    Messy(
        name="01/31/2024",
        cells={"day": ["01/31/2024", "12/1/1999"], **AGE},
        expected={"day": days("2024-01-31", "1999-12-01"), **AGES},
        write=text(),
    ),
    Messy(
        name="31/01/2024",
        cells={"day": ["31/01/2024", "1/12/1999"], **AGE},
        expected={"day": days("2024-01-31", "1999-12-01"), **AGES},
        write=text(),
    ),
    Messy(
        name="03/04/2024 in a file of commas",
        cells={"day": ["03/04/2024", "12/01/1999"], **AGE},
        expected={"day": days("2024-03-04", "1999-12-01"), **AGES},
        write=text(),
        note="--as day=day_first",
    ),
    Messy(
        name="03/04/2024 in a file of semicolons",
        cells={"day": ["03/04/2024", "12/01/1999"], **AGE},
        expected={"day": days("2024-04-03", "1999-01-12"), **AGES},
        write=text(";"),
        note="--as day=month_first",
    ),
    Messy(
        name="03/04/2024 beside 31/01/2024",
        cells={"day": ["03/04/2024", "12/01/1999"], "end": ["31/01/2024", "02/02/2024"]},
        expected={"day": days("2024-04-03", "1999-01-12"), "end": days("2024-01-31", "2024-02-02")},
        write=text(),
    ),
    Messy(
        name="eight digits",
        cells={"day": ["20240131", "19991201", "20000229"], "n": ["20241399", "19991201", "20000229"]},
        expected={"day": days("2024-01-31", "1999-12-01", "2000-02-29"), "n": [20241399, 19991201, 20000229]},
        write=text(),
    ),
    Messy(
        name="names of months",
        cells={
            "a": ["31 Jan 2024", "1 Dec 1999"],
            "b": ["Jan 31, 2024", "Dec 1, 1999"],
            "c": ["31-JAN-2024", "01-DEC-1999"],
        },
        expected=dict.fromkeys("abc", days("2024-01-31", "1999-12-01")),
        write=text(";"),
    ),
    Messy(
        name="years of two digits",
        cells={"day": ["31.01.24", "01.12.99"], **AGE},
        expected={"day": days("2024-01-31", "1999-12-01"), **AGES},
        write=text(),
        note="two digits",
    ),
    Messy(
        name="dates with a time",
        cells={
            "a": ["2024-01-31T08:30:05", "1999-12-01T23:59:59"],
            "b": ["2024-01-31 08:30", "1999-12-01 23:59"],
            "c": ["2024-01-31T08:30:05Z", "1999-12-01T23:59:59+01:00"],
        },
        expected={
            "a": seconds("2024-01-31T08:30:05", "1999-12-01T23:59:59"),
            "b": [each // 60 for each in seconds("2024-01-31T08:30", "1999-12-01T23:59")],
            "c": seconds("2024-01-31T08:30:05", "1999-12-01T22:59:59"),
        },
        write=text(),
    ),
    Messy(
        name="times of day",
        cells={"a": ["08:30", "23:59", "0:05"], "b": ["8:30 PM", "11:59 AM"], "c": ["08:30:01", "00:00:10"]},
        expected={"a": [510, 1439, 5], "b": [1230, 719], "c": [30601, 10]},
        write=text(),
    ),
    Messy(
        name="days that follow each other are no key",
        cells={"day": lambda row: str(date(2024, 1, 1 + row % 31) if row < 31 else date(2024, 2, row - 30)), **AGE},
        expected={"day": days("2024-01-01", "2024-01-02"), **AGES},
        write=text(),
    ),
    Messy(
        name="version numbers are no dates",
        cells={"release": ["1.2.3", "1.2.4", "10.0.1"], **AGE},
        expected={"release": ["1.2.3", "1.2.4", "10.0.1"], **AGES},
        write=text(),
    ),
]

OVERRULED = [
    Messy(
        name="asked for: codes as numbers, numbers as codes",
        cells={"zip": ["01067", "20095"], "n": ["9", "10", "9"], **AGE},
        expected={"zip": [1067, 20095], "n": ["9", "10", "9"], **AGES},
        write=text(),
        said={"zip": "number", "n": "category"},
    ),
    Messy(
        name="asked for: thousands",
        cells={"x": ["1.234", "56.789"], **AGE},
        expected={"x": [1234, 56789], **AGES},
        write=text(),
        said={"x": "decimal_comma"},
    ),
    Messy(
        name="asked for: the day comes first",
        cells={"day": ["03/04/2024", "12/01/1999"], **AGE},
        expected={"day": days("2024-04-03", "1999-01-12"), **AGES},
        write=text(),
        said={"day": "day_first"},
    ),
    Messy(
        name="asked for: keep a key, leave out a column",
        cells={"nr": lambda row: row, "x": ["1", "2", "3"], **AGE},
        expected={"nr": [0, 1, 2], "x": OUT, **AGES},
        write=text(),
        said={"nr": "number", "x": "leave_out"},
    ),
    Messy(
        name="asked for: answers as numbers, dates as categories",
        cells={"a": ["ja", "nein", "Ja"], "day": ["2024-01-31", "1999-12-01"]},
        expected={"a": [1, 0, 1], "day": ["2024-01-31", "1999-12-01"]},
        write=text(),
        said={"a": "number", "day": "category"},
    ),
    Messy(
        name="asked for: numbers, and some cells are none",
        cells={"mark": ["1", "2", "good"], **AGE},
        expected={"mark": [1, 2, None], **AGES},
        write=text(),
        said={"mark": "number"},
        note="20 of 60 filled cells",
    ),
]

TABLES = [*FILES, *EXCEL, *NUMBERS, *CODES, *DATES, *OVERRULED]
