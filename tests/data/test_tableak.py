"""The columns of TabLeak's Health Heritage and Law School."""

from __future__ import annotations

import sys
from pathlib import Path

import polars as pl
import pytest

from seepage._core import InputError
from seepage._core.errors import FetchError
from seepage.data import Encoder
from seepage.data.registry import open_dataset
from seepage.data.tableak import LAW_COLUMNS, health_tableak

pandas = pytest.importorskip("pandas")


def claims(rows: int = 3) -> pl.DataFrame:
    groups = {f"{prefix}{n}": [0] * rows for prefix, size in (("pcg", 46), ("sp", 13), ("pg", 18), ("ps", 9))
              for n in range(1, size + 1)}  # fmt: skip
    return pl.DataFrame(
        {
            "MemberID_t": range(rows), "age_05": [1, 0, 0], "age_MISS": [0, 1, 1], "sexMALE": [1, 0, 0],
            "sexFEMALE": [0, 1, 1], "no_Claims": [4, 2, 1], "no_Providers": [2] * rows, "no_Vendors": [2] * rows,
            "no_PCPs": [1] * rows, "PayDelay_max": [49] * rows, "PayDelay_min": [17] * rows, "PayDelay_ave": [27, 3, 0],
            "drugCount_ave": [0.0, 1.5, 2.0], "drugcount_months": [0, 2, 3], "labCount_ave": [6.0, 2.0, 0.0],
            "labcount_months": [1, 3, 0], "Charlson>0": [0, 1, 0],
            **groups, "pcg2": [1, 0, 0], "pcg16": [1, 5, 0], "sp3": [0, 0, 9],
        }
    )  # fmt: skip


def test_health_has_seventeen_columns_of_totals_and_most_frequent_groups() -> None:
    frame = health_tableak(claims())
    assert frame.width == 1 + 17 + 1
    assert frame["PayDelay_total"].to_list() == [108, 6, 0]
    assert frame["DrugCount_total"].to_list() == [0, 3, 6]
    assert frame["LabCount_total"].to_list() == [6, 6, 0]
    assert frame["PrimaryConditionGroup"].to_list() == ["pcg 02", "pcg 16", "pcg 01"]  # the first of equal ones
    assert frame["Specialty"].to_list() == ["sp 01", "sp 01", "sp 03"]
    assert frame["Sex"].to_list() == ["MALE", "FEMALE", "FEMALE"]


@pytest.mark.parametrize("lacking", ["MemberID_t", "PayDelay_ave"])
def test_another_table_is_named_by_what_it_lacks(lacking: str) -> None:
    with pytest.raises(InputError, match=lacking):
        health_tableak(claims().drop(lacking))
    with pytest.raises(InputError, match="pcg1"):
        health_tableak(claims().drop(pl.selectors.starts_with("pcg")))


def admissions(path: Path) -> Path:
    count = 12
    frame = pandas.DataFrame(
        {
            "lsat": [150.0 + n for n in range(count)],
            "gpa": [3.0 + n / 20 for n in range(count)],
            "race": (["White", "Black", "Asian", "Hispanic"] * count)[:count],
            "resident": [float(n % 2) for n in range(count)],
            "college": (["Wyoming", "Virginia", ""] * count)[:count],
            "year": (["2005", "2006"] * count)[:count],
            "gender": [float(n % 2) for n in range(count)],
            "admit": [float(n // 2 % 2) for n in range(count)],
            "enroll": [0.0] * count,
            "urm": [0.0] * count,
        }
    )
    frame.loc[1, "gpa"] = None
    frame.to_stata(path, write_index=False)
    return path


def test_law_school_is_read_from_the_users_stata_file(tmp_path: Path) -> None:
    frame, schema = open_dataset("law_school_tableak", path=admissions(tmp_path / "lawschs1_1.dta"))
    assert tuple(frame.columns) == LAW_COLUMNS
    assert frame.height == 12 - 4 - 1  # rows with an empty college or grade are left out
    assert [column.name for column in schema.numeric] == ["lsat", "gpa"]
    assert Encoder(schema=schema).layout.width > 2


def test_law_school_says_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(FetchError, match="only from your own copy"):
        open_dataset("law_school_tableak")
    path = admissions(tmp_path / "lawschs1_1.dta")
    other = tmp_path / "other.csv"
    other.write_text("a,b\n1,2\n3,4\n")
    with pytest.raises(InputError, match="not lawschs1_1: it has no column 'lsat'"):
        open_dataset("law_school_tableak", path=other)
    (tmp_path / "broken.dta").write_bytes(b"no Stata")
    with pytest.raises(InputError, match="not a Stata table"):
        open_dataset("law_school_tableak", path=tmp_path / "broken.dta")
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(InputError, match="install pandas"):
        open_dataset("law_school_tableak", path=path)
