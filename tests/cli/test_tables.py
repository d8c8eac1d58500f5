"""What a person reads about the table before an audit starts, and how soon."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from seepage.cli.tables import print_short, quiet_about_left_out
from seepage.data.request import Request
from seepage.data.source import open_source


def table(folder: Path) -> Path:
    rows = 60
    cells = {
        "nr": list(range(rows)),
        "zip": [f"0{1000 + row % 5}" for row in range(rows)],
        "seen": [f"{1 + row % 28:02d}.02.2024" for row in range(rows)],
        "age": [None if row % 10 == 0 else 20 + row % 50 for row in range(rows)],
        "ward": [None if row % 6 == 0 else "ab"[row % 2] for row in range(rows)],
        "died": [None if row == 7 else row % 2 for row in range(rows)],
    }
    path = folder / "patients.csv"
    pl.DataFrame(cells).write_csv(path)
    return path


def test_an_audit_starts_with_what_is_remarkable(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with quiet_about_left_out():  # a warning would be an error here
        source = open_source(Request(data=table(tmp_path), target="died"))
    assert source.overview is not None
    print_short(source.overview)
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.splitlines() == [
        "patients: 59 rows, 4 input columns (2 numbers, 2 categories), target died (2 classes).",
        "  left out: nr (a key: it numbers the rows)",
        "  read as:  zip category (leading zeros); seen date (dates, day first, days since 1970)",
        "  filled:   age 6 with the median; ward 10 with own category",
        "  note:     1 of 60 rows has no target (died) and is left out.",
    ]


def test_many_remarkable_columns_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    columns = {f"c{place}": [f"0{row % 5}" for row in range(60)] for place in range(30)}
    seen = open_source(Request(data=pl.DataFrame(columns | {"y": [0, 1] * 30}), target="y")).overview
    assert seen is not None
    print_short(seen)
    assert "and 22 more (see seepage data check)" in capsys.readouterr().err


def test_what_was_filled_is_kept_for_the_report(tmp_path: Path) -> None:
    with quiet_about_left_out():
        facts = open_source(Request(data=table(tmp_path), target="died")).describe()
    filled = {column.name: (column.missing, column.filled) for column in facts.columns if column.missing}
    assert filled == {"age": (6, "the median"), "ward": (10, "own category")}
    assert "1 of 60 rows has no target (died) and is left out." in facts.notes


@pytest.mark.parametrize("words", [["audit", "--data", "no.csv", "--target", "y"], ["data", "check", "no.csv"]])
def test_an_absent_file_is_told_before_torch_is_loaded(words: list[str]) -> None:
    code = (
        "import sys; from seepage.cli.main import main; sys.argv = ['seepage', *sys.argv[1:]]\n"
        "try:\n    main()\nexcept SystemExit as ended:\n    print(ended.code, 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=False)
    assert done.stderr == "error: There is no file no.csv.\n"
    assert done.stdout == "2 False\n"
