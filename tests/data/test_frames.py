"""Files and frames in: what is a table and what is not."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from seepage._core import InputError
from seepage.data import Table, as_frame, clinic, infer_schema, read_frame
from seepage.data.schema import MISSING


def write(folder: Path, text: str | bytes, name: str = "table.csv") -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_the_separator_is_found(tmp_path: Path, separator: str) -> None:
    text = "age,ward,died\n30,a,0\n41,b,1\n".replace(",", separator)
    frame = read_frame(write(tmp_path, text))
    assert frame.to_dicts() == [{"age": 30, "ward": "a", "died": 0}, {"age": 41, "ward": "b", "died": 1}]


def test_empty_cells_blanks_and_quotes(tmp_path: Path) -> None:
    text = 'a, b ,"c, d",e\n1, x ,"p, q",\n?,,NA,2.5\n 3 ,y,z,0.5\n'
    frame = read_frame(write(tmp_path, text))
    assert frame.columns == ["a", "b", "c, d", "e"]
    assert frame["a"].to_list() == [1, None, 3]
    assert frame["b"].to_list() == ["x", None, "y"]
    assert frame["c, d"].to_list() == ["p, q", None, "z"]
    assert frame["e"].to_list() == [None, 2.5, 0.5]


def test_a_number_far_down_decides_with_the_rest(tmp_path: Path) -> None:
    rows = "\n".join(f"{row},x{row % 3}" for row in range(2000))
    assert read_frame(write(tmp_path, f"n,t\n{rows}\n"))["n"].dtype == pl.Int64
    assert read_frame(write(tmp_path, f"n,t\n{rows}\n1.5,x1\n"))["n"].dtype == pl.Float64
    assert read_frame(write(tmp_path, f"n,t\n{rows}\nmany,x1\n"))["n"].dtype == pl.String


def test_long_keys_keep_every_digit(tmp_path: Path) -> None:
    frame = read_frame(write(tmp_path, "key,x\n9007199254740993,1\n9007199254740992,2\n"))
    assert frame["key"].to_list() == [9007199254740993, 9007199254740992]


def test_parquet_and_csv_give_the_same_frame(tmp_path: Path) -> None:
    frame = clinic(200)
    frame.write_parquet(tmp_path / "t.parquet")
    frame.write_csv(tmp_path / "t.csv")
    assert read_frame(tmp_path / "t.parquet").equals(read_frame(tmp_path / "t.csv"))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "not a table"),
        ("\n\n", "not a table"),
        ("age\n1\n2\n", "only one column"),
        ("just some words\nand more\n", "only one column"),
        ("a,b\n", "0 row"),
        (b"\x00\x01\x02\x03,\x00\n", "not a table"),
        (b"\xff\xfe\x80\x81" * 40, "only one column"),
        (b"\xff\xfe\x80\xdc" * 40, "begins like UTF-16 text and is not"),
        (b"\xef\xbb\xbf\xff,\xff\n" * 4, "begins like UTF-8 text and is not"),
        ("a,b,a\n1,2,3\n4,5,6\n", "more than one column named 'a'"),
        ("a,b, a\n1,2,3\n4,5,6\n", "more than one column named 'a'"),
        ("a,b\n1,2,3,4\n5,6\n", "not a table"),
    ],
)
def test_what_is_no_table_is_said_in_one_sentence(tmp_path: Path, content: str | bytes, words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        read_frame(write(tmp_path, content))
    assert "\n" not in str(caught.value)


def test_missing_files_folders_and_false_parquet(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="There is no file"):
        read_frame(tmp_path / "none.csv")
    with pytest.raises(InputError, match="is a folder"):
        read_frame(tmp_path)
    with pytest.raises(InputError, match="not a Parquet table"):
        read_frame(write(tmp_path, "a,b\n1,2\n", "t.parquet"))


def test_pandas_frames_come_in(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    frame = as_frame(pandas.DataFrame({"a": [1.5, float("nan"), 2.0], "b": ["x", None, "?"], "c": [1, 2, 3]}))
    assert frame.to_dict(as_series=False) == {"a": [1.5, None, 2.0], "b": ["x", None, None], "c": [1, 2, 3]}
    with pytest.raises(InputError, match="more than one column named 'a'"):
        as_frame(pandas.DataFrame([[1, 2], [3, 4]], columns=["a", "a"]))


def test_what_is_no_frame_is_refused() -> None:
    with pytest.raises(InputError, match="found list"):
        as_frame([1, 2, 3])
    with pytest.raises(InputError, match="is of type List"):
        as_frame(pl.DataFrame({"a": [[1], [2]], "b": [1, 2]}))
    with pytest.raises(InputError, match="is of type Date"):
        as_frame(pl.DataFrame({"a": ["2020-01-01", "2020-01-02"], "b": [1, 2]}).with_columns(pl.col("a").str.to_date()))


def test_no_column_is_without_a_name(tmp_path: Path) -> None:
    assert read_frame(write(tmp_path, ",a,b\n1,2,3\n4,5,6\n")).columns == ["column_1", "a", "b"]
    assert as_frame(pl.DataFrame({"a": [1, 2], " ": [3, 4], "": [5, 6]})).columns == ["a", "column_2", "column_3"]
    assert as_frame(pl.DataFrame({"": [1, 2], "column_1": [3, 4]})).columns == ["column_2", "column_1"]


@pytest.mark.parametrize("name", ["a[1]", "a*", "a?"])
def test_file_names_are_taken_literally(tmp_path: Path, name: str) -> None:
    write(tmp_path, "a,b\n7,7\n8,8\n", "a1.csv")
    frame = pl.DataFrame({"a": [1, 3], "b": [2, 4]})
    assert read_frame(write(tmp_path, "a,b\n1,2\n3,4\n", f"{name}.csv")).equals(frame)
    frame.write_parquet(tmp_path / "a1.parquet")
    (tmp_path / "a1.parquet").rename(tmp_path / f"{name}.parquet")
    assert read_frame(tmp_path / f"{name}.parquet").equals(frame)


def test_a_separator_inside_quotes_is_part_of_a_name(tmp_path: Path) -> None:
    frame = read_frame(write(tmp_path, '"name, with, many, commas";x;y\n1;2;3\n4;5;6\n'))
    assert frame.columns == ["name, with, many, commas", "x", "y"]


@pytest.mark.parametrize("values", [[10, 2, None, 10], [10.0, 2.0, None, 10.0], ["10", "2", "?", "10"]])
def test_pandas_categories_stay_categories(values: list[object]) -> None:
    pandas = pytest.importorskip("pandas")
    data = {"code": pandas.Categorical(values), "age": [1, 2, 3, 5], "y": pandas.Categorical([0, 1, 0, 1])}
    frame = as_frame(pandas.DataFrame(data))
    assert frame["code"].to_list() == ["10", "2", None, "10"]
    schema = infer_schema(frame, "y")
    assert schema.column("code").categories == ("10", "2", MISSING)
    table = Table.from_frame(frame, schema)
    assert table.codes[:, 0].tolist() == [0, 1, 2, 0]
    assert table.target.tolist() == [0, 1, 0, 1]
    text = frame.with_columns(frame["code"].cast(pl.String))  # as a CSV file would give it
    assert Table.from_frame(text, schema).codes[:, 0].tolist() == [0, 1, 2, 0]
