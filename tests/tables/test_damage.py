"""Files that are damaged, too large when unpacked, or no tables: one sentence each, and no memory is filled."""

from __future__ import annotations

import gzip
import zipfile
from pathlib import Path

import pytest
import zstandard

from seepage._core import InputError
from seepage.data import excel, files
from seepage.data.files import read_raw
from tests.tables.workbook import workbook, zipped

PACKED = {"t.csv.gz": gzip.compress, "t.csv.zst": zstandard.ZstdCompressor(write_checksum=True).compress}
SHEET = "xl/worksheets/sheet1.xml"


def written(folder: Path, name: str, content: bytes) -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("name", PACKED)
def test_what_unpacks_to_too_much_stops(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_UNPACKED", 3 << 20)
    path = written(tmp_path, name, PACKED[name](b"a,b\n" + b"1,2\n" * (1 << 20)))
    assert path.stat().st_size < 10_000
    with pytest.raises(InputError, match="unpacks to more than 3 MB"):
        read_raw(path)


@pytest.mark.parametrize("name", PACKED)
@pytest.mark.parametrize("damage", ["cut", "flipped", "other", "empty"])
def test_damaged_archives_are_one_sentence(name: str, damage: str, tmp_path: Path) -> None:
    content = PACKED[name]("".join(f"{row},{row * row % 97}\n" for row in range(2000)).encode())
    middle = len(content) // 2
    content = {
        "cut": content[:middle],
        "flipped": content[:middle]
        + bytes(255 - byte for byte in content[middle : middle + 20])
        + content[middle + 20 :],
        "other": b"a,b\n1,2\n3,4\n",
        "empty": b"",
    }[damage]
    with pytest.raises(InputError) as caught:
        read_raw(written(tmp_path, name, content))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "not an Excel workbook"),
        (b"a,b\n1,2\n", "not an Excel workbook"),
        (zipped({"a.txt": "no workbook"}), "not an Excel workbook"),
        (workbook({"empty": []}), "its sheets are empty"),
        (workbook({"t": [["a", "b"], [1, 2]]})[:-60], "not an Excel workbook"),
        (workbook({"t": [["a", "a"], [1, 2]]}), "more than one column named 'a'"),
    ],
)
def test_workbooks_that_are_none(content: bytes, words: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=words) as caught:
        read_raw(written(tmp_path, "t.xlsx", content))
    assert "\n" not in str(caught.value)


def test_a_workbook_that_cannot_be_unpacked(tmp_path: Path) -> None:
    content = bytearray(workbook({"t": [["a", "b"], *([row, row * row] for row in range(500))]}))
    middle = len(content) // 2
    content[middle : middle + 40] = bytes(range(200, 240))
    with pytest.raises(InputError, match="not an Excel workbook"):
        read_raw(written(tmp_path, "t.xlsx", bytes(content)))


def with_sheet(folder: Path, old: str, new: str) -> Path:
    """A workbook whose sheet was changed by hand."""
    path = written(folder, "t.xlsx", workbook({"t": [["a", "b"], [1, 2], [3, 4]]}))
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name).decode() for name in archive.namelist()}
    return written(folder, "t.xlsx", zipped(parts | {SHEET: parts[SHEET].replace(old, new)}))


def test_one_cell_in_the_last_corner_is_not_an_area(tmp_path: Path) -> None:
    path = with_sheet(tmp_path, "</sheetData>", '<row r="1048576"><c r="XFD1048576"><v>1</v></c></row></sheetData>')
    with pytest.raises(InputError, match=r"spans 1,048,576 rows x 16,384 columns"):
        read_raw(path)


def test_cells_without_places_are_counted_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(excel, "MAX_CELLS", 100_000)
    wide, long = f"<row>{'<c><v>1</v></c>' * 400}</row>", "<row><c><v>1</v></c></row>" * 400
    with pytest.raises(InputError, match=r"spans 40\d rows x 400 columns"):
        read_raw(with_sheet(tmp_path, "</sheetData>", f"{wide}{long}</sheetData>"))


def test_a_workbook_is_bounded_in_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(excel, "MAX_BYTES", 1 << 20)
    with pytest.raises(InputError, match="unpacks to more than 1 MB"):
        read_raw(with_sheet(tmp_path, "<sheetData>", f"<!--{' ' * (1 << 21)}--><sheetData>"))


@pytest.mark.parametrize("name", ["t.xls", "t.ods", "t.xlsb"])
def test_other_formats_name_the_way_out(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"save it as \.xlsx or as CSV"):
        read_raw(written(tmp_path, name, b"whatever"))
