"""A frame under a schema: what is read, what is refused, and the way back."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given

from seepage._core import InputError
from seepage.data import Table, clinic, infer_schema
from seepage.data.table import UNKNOWN_CODE

from .strategies import tables


def small() -> pl.DataFrame:
    return pl.DataFrame(
        {
            "age": [30, None, 52, 41, 60],
            "ward": ["a", "b", None, "a", "b"],
            "flag": [0, 1, 1, 0, 1],
            "died": ["no", "yes", None, "no", "yes"],
        }
    )


def test_rows_without_a_target_are_left_out() -> None:
    frame = small()
    table = Table.from_frame(frame, infer_schema(frame, "died"))
    assert len(table) == 4
    np.testing.assert_array_equal(table.target, [0, 1, 0, 1])
    np.testing.assert_array_equal(table.numbers[:, 0], [30, 41, 41, 60])  # the empty one is the median
    np.testing.assert_array_equal(table.codes, [[0, 0], [1, 1], [0, 0], [1, 1]])


@given(tables())
def test_the_way_to_a_frame_and_back(table: Table) -> None:
    if table.codes.shape[1] == 0 and table.numbers.shape[1] < 1:
        return
    again = Table.from_frame(table.to_frame(), table.schema)
    np.testing.assert_array_equal(again.numbers, table.numbers)
    np.testing.assert_array_equal(again.codes, table.codes)
    np.testing.assert_array_equal(again.target, table.target)


def test_empty_cells_come_back_empty() -> None:
    frame = clinic(300).select("marital_status", "age", "died")
    table = Table.from_frame(frame, infer_schema(frame, "died"))
    assert table.to_frame()["marital_status"].null_count() == frame["marital_status"].null_count() > 0


def test_take_keeps_the_order_asked_for() -> None:
    frame = clinic(200)
    table = Table.from_frame(frame, infer_schema(frame, "died"))
    rows = np.array([7, 3, 3])
    np.testing.assert_array_equal(table.take(rows).numbers, table.numbers[rows])
    assert len(table.take(rows)) == 3


def test_a_new_category_is_the_unknown_one() -> None:
    frame = small()
    schema = infer_schema(frame.filter(pl.col("died").is_not_null()), "died")
    table = Table.from_frame(frame.with_columns(ward=pl.Series(["a", "new", "b", None, "b"])), schema)
    np.testing.assert_array_equal(table.codes[:, 0], [0, UNKNOWN_CODE, UNKNOWN_CODE, 1])
    assert table.to_frame()["ward"].to_list() == ["a", "__unknown__", "__unknown__", "b"]


def test_numbers_written_as_text_are_the_same_category() -> None:
    frame = pl.DataFrame({"flag": [0, 1, 0, 1], "x": [1, 2, 3, 4], "y": [0, 1, 1, 0]})
    schema = infer_schema(frame, "y")
    for other in (pl.Series(["0", "1", "0", "1"]), pl.Series([0.0, 1.0, 0.0, 1.0])):
        np.testing.assert_array_equal(
            Table.from_frame(frame.with_columns(flag=other), schema).codes[:, 0], [0, 1, 0, 1]
        )


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda f: f.drop("age"), "it has no column 'age'"),
        (lambda f: f.with_columns(extra=pl.lit(1)), "does not mention column 'extra'"),
        (lambda f: f.with_columns(age=pl.Series(["x", "y", "z", "w", "v"])), "'age' is numeric there, text here"),
        (lambda f: f.with_columns(ward=pl.Series(["p", "q", "r", "s", "t"])), "no cell of 'ward'"),
        (lambda f: f.with_columns(died=pl.Series(["no", "maybe", "no", "yes", "no"])), "a class other than no, yes"),
        (lambda f: f.with_columns(age=pl.Series([1.0, float("inf"), 2.0, 3.0, 4.0])), "NaN or infinite"),
    ],
)
def test_a_schema_of_another_table_is_refused(change, words: str) -> None:  # type: ignore[no-untyped-def]
    frame = small()
    with pytest.raises(InputError, match=words):
        Table.from_frame(change(frame), infer_schema(frame, "died"))


def test_a_regression_target_must_be_numbers() -> None:
    frame = pl.DataFrame({"x": [1, 2, 3, 4], "y": [0.5, 1.5, 2.5, 3.5]})
    schema = infer_schema(frame, "y")
    np.testing.assert_array_equal(Table.from_frame(frame, schema).target, frame["y"].to_numpy())
    with pytest.raises(InputError, match="the target 'y' is text here"):
        Table.from_frame(frame.with_columns(y=pl.Series(list("abcd"))), schema)
    with pytest.raises(InputError, match="NaN or infinite"):
        Table.from_frame(frame.with_columns(y=pl.Series([1.0, 2.0, float("nan"), 3.0])), schema)


def test_whole_numbers_are_rounded_on_the_way_out() -> None:
    frame = small()
    table = Table.from_frame(frame, infer_schema(frame, "died"))
    table.numbers[:, 0] = [29.9999999, 41.2, 40.6, 60]
    assert table.to_frame()["age"].to_list() == [30, 41, 41, 60]
