"""What the schema of a table is guessed to be, and when a person is asked instead."""

from __future__ import annotations

import warnings

import polars as pl
import pytest

from seepage._core import InputError
from seepage.data import ConstantWarning, IdentifierWarning, Table, infer_schema, with_kinds
from seepage.data.schema import MISSING


def frame(**columns: list[object]) -> pl.DataFrame:
    base: dict[str, list[object]] = {"age": [30, 41, 52, 30, 60, 19], "died": ["no", "yes", "no", "no", "yes", "no"]}
    return pl.DataFrame(base | columns, strict=False)


def test_each_kind_is_recognised() -> None:
    schema = infer_schema(
        frame(
            dose=[0.5, 1.25, None, 3.0, 2.0, 1.0],
            flag=[0, 1, 1, 0, 0, 1],
            ward=["a", "b", "c", "a", None, "b"],
            sex=["f", "m", "f", "m", "f", "m"],
            smokes=[True, False, True, True, False, False],
            code=["1", "2", "3", "3", "2", "1"],
        ),
        "died",
    )
    kinds = {column.name: column.kind for column in schema.columns}
    assert kinds == {
        "age": "numeric", "dose": "numeric", "flag": "binary", "ward": "categorical", "sex": "binary",
        "smokes": "binary", "code": "numeric",
    }  # fmt: skip
    assert schema.column("age").integer
    assert (schema.column("age").low, schema.column("age").high) == (19, 60)
    assert not schema.column("dose").integer
    assert schema.column("ward").categories == ("a", "b", "c", MISSING)
    assert schema.column("smokes").categories == ("false", "true")
    assert schema.target.classes == ("no", "yes")


def test_empty_numbers_are_filled_with_zero_or_the_median() -> None:
    schema = infer_schema(frame(a=[-1, 0, None, 2, 3, 4], b=[10, 20, None, 30, 40, 50]), "died")
    assert schema.column("a").fill == 0
    assert schema.column("b").fill == 30  # nobody has a 0 there


@pytest.mark.parametrize(
    ("values", "task", "classes"),
    [
        ([0, 1, 0, 1, 1, 0], "binary", ("0", "1")),
        ([3, 1, 2, 1, 2, 3], "multiclass", ("1", "2", "3")),
        ([0.5, 1.5, 2.5, 3.5, 1.0, 2.0], "regression", ()),
    ],
)
def test_the_task_is_guessed(values: list[float], task: str, classes: tuple[str, ...]) -> None:
    target = infer_schema(frame(y=values, extra=list("abcaba")), "y").target
    assert (target.task, target.classes) == (task, classes)


def test_classes_that_are_numbers_are_in_their_order() -> None:
    target = infer_schema(frame(y=[2, 10, 9, 2, 10, 9]), "y").target
    assert target.classes == ("2", "9", "10")


def test_an_absent_target_names_the_nearest() -> None:
    with pytest.raises(InputError, match="Did you mean 'died'"):
        infer_schema(frame(), "dies")


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"y": [1, 1, 1, 1, 1, 1]}, "same value in every row"),
        ({"y": [None] * 6}, "empty in every row"),
        ({"y": [1.0, float("nan"), 2.0, 3.0, 4.0, 5.0]}, "NaN or infinite"),
        ({"y": ["a", "b", "c", "d", "e", "f"]}, "6 classes in 6 rows"),
        ({"y": [0, 1, 0, 1, 0, 1], "x": [1.0, float("inf"), 2.0, 3.0, 4.0, 5.0]}, "'x' has 1 cell"),
        ({"y": [0, 1, 0, 1, 0, 1], "x": [1.0, float("nan"), 2.0, float("nan"), 4.0, 5.0]}, "'x' has 2 cell"),
    ],
)
def test_what_cannot_be_learned_from_is_one_sentence(columns: dict[str, list[object]], words: str) -> None:
    with pytest.raises(InputError, match=words):
        infer_schema(frame(**columns), "y")


def test_task_and_target_must_agree() -> None:
    with pytest.raises(InputError, match="cannot be a regression target"):
        infer_schema(frame(), "died", task="regression")
    with pytest.raises(InputError, match="a binary target has two"):
        infer_schema(frame(y=[1, 2, 3, 1, 2, 3]), "y", task="binary")


@pytest.mark.parametrize(
    "name", ["patient_id", "id", "PatientID", "mrn", "row index", "uuid", "", "column_1", "column_12"]
)
def test_identifiers_are_dropped_with_a_warning(name: str) -> None:
    table = frame().with_columns(pl.Series(name, [11, 12, 13, 14, 15, 16]))
    with pytest.warns(IdentifierWarning, match="looks like an identifier"):
        schema = infer_schema(table, "died")
    assert schema.names == ("age",)
    assert [dropped.name for dropped in schema.dropped] == [name]


@pytest.mark.parametrize("name", ["paid", "humid", "liquid", "width", "video", "keyboard"])
def test_names_that_only_end_like_a_key_stay(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert name in infer_schema(frame(**{name: [11, 12, 13, 14, 15, 16]}), "died").names


@pytest.mark.parametrize("values", [[1, 1, 2, 2, 3, 3], [1.0, 1.0, 2.0, 2.0, None, 3.0], list("aabbcc")])
def test_a_repeating_key_stays_and_a_person_is_asked(values: list[object]) -> None:
    table = frame(shop_id=values)
    with pytest.warns(IdentifierWarning, match=r"--group shop_id.*--drop shop_id"):
        assert "shop_id" in infer_schema(table, "died").names
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "shop_id" in infer_schema(table, "died", known=True).names
        assert "shop_id" not in infer_schema(table, "died", drop=("shop_id",)).names
        assert "bmi_index" in infer_schema(frame(bmi_index=[1.5, 1.5, 2.0, 2.5, 3.0, 3.0]), "died").names


def test_columns_can_be_dropped_but_not_the_target() -> None:
    schema = infer_schema(frame(x=[1, 2, 3, 4, 5, 6]), "died", drop=("x",))
    assert schema.names == ("age",)
    with pytest.raises(InputError, match="cannot be dropped"):
        infer_schema(frame(), "died", drop=("died",))
    with pytest.raises(InputError, match="Did you mean 'age'"):
        infer_schema(frame(), "died", drop=("agee",))
    with pytest.raises(InputError, match="No input column is left"):
        infer_schema(frame(), "died", drop=("age",))


def test_rows_without_a_target_do_not_count() -> None:
    table = frame(x=["a", "b", "a", "b", "a", "z"], died=["no", "yes", "no", "no", "yes", None])
    assert infer_schema(table, "died").column("x").categories == ("a", "b")


def test_with_kinds_reads_a_number_as_a_category_in_its_order() -> None:
    table = frame(code=[9, 10, 2, 9, 10, None])
    schema = with_kinds(infer_schema(table, "died"), table, {"code": "categorical"})
    assert schema.column("code").categories == ("2", "9", "10", MISSING)
    assert schema.names == ("age", "code")


def test_with_kinds_reads_two_values_as_a_number() -> None:
    table = frame(count=[1, 2, 1, 2, 1, 2])
    schema = with_kinds(infer_schema(table, "died"), table, {"count": "numeric"})
    assert schema.column("count").is_numeric
    assert (schema.column("count").low, schema.column("count").high) == (1, 2)


def test_with_kinds_refuses_what_cannot_be() -> None:
    table = frame(ward=list("abcabc"))
    schema = infer_schema(table, "died")
    with pytest.raises(InputError, match="cannot be numeric"):
        with_kinds(schema, table, {"ward": "numeric"})
    with pytest.raises(InputError, match="a binary column has two"):
        with_kinds(schema, table, {"ward": "binary"})
    with pytest.raises(InputError, match="Did you mean 'ward'"):
        with_kinds(schema, table, {"wards": "categorical"})


@pytest.mark.parametrize("value", [7, 0.5, "a", True])
def test_a_constant_is_dropped_with_a_warning(value: object) -> None:
    table = frame(same=[value] * 6)
    with pytest.warns(ConstantWarning, match="'same' has the same value in every row"):
        schema = infer_schema(table, "died")
    assert schema.names == ("age",)
    assert schema.dropped[0].reason == "constant: the same value in every row"
    assert with_kinds(schema, table, {"same": "categorical"}) == schema  # dropped stays dropped
    assert "same" in infer_schema(table, "died", known=True).names


@pytest.mark.parametrize("value", [7, 0.5, "a"])
def test_one_value_and_empty_cells_are_two_categories(value: object) -> None:
    column = infer_schema(frame(some=[value, None, value, None, value, value]), "died").column("some")
    assert (column.kind, column.categories) == ("binary", (str(value), MISSING))


def test_a_flag_with_empty_cells_has_three_categories() -> None:
    for values in ([0, 1, None, 0, 1, 1], [0.0, 1.0, None, 0.0, 1.0, 1.0]):
        table = frame(flag=values)
        schema = infer_schema(table, "died")
        assert schema.column("flag").kind == "categorical"
        assert schema.column("flag").categories == ("0", "1", MISSING)
        assert Table.from_frame(table, schema).codes[:, 0].tolist() == [0, 1, 2, 0, 1, 1]


@pytest.mark.parametrize("dtype", [pl.String, pl.Categorical, pl.Enum(list("abcdef"))])
def test_text_that_differs_in_every_row_is_left_out(dtype: pl.DataType) -> None:
    table = frame(note=list("abcdef")).with_columns(pl.col("note").cast(dtype))
    with pytest.warns(IdentifierWarning, match=r"different text in nearly every row.*--as note=category"):
        schema = infer_schema(table, "died")
    assert schema.names == ("age",)
    kept = infer_schema(table, "died", kinds={"note": "categorical"})  # the advice works, and nobody warns again
    assert kept.column("note").categories == tuple("abcdef")


def test_an_empty_column_is_left_out() -> None:
    with pytest.warns(ConstantWarning, match="'gone' is empty in every row"):
        assert infer_schema(frame(gone=[None] * 6), "died").names == ("age",)


@pytest.mark.parametrize(
    ("values", "left_out"),
    [
        (list(range(1001, 1061)), True),  # it counts
        ([number for number in range(1001, 1081) if number % 4], True),  # with gaps
        ([710_000_000 + 7919 * row for row in range(60)], True),  # numbers of people
        ([17 * row for row in range(60)], False),  # a quantity may differ in every row
        ([row % 59 for row in range(60)], False),
    ],
)
def test_numbers_that_number_the_rows_are_left_out(values: list[int], left_out: bool) -> None:
    table = pl.DataFrame({"number": values, "age": [row % 7 for row in range(60)], "y": [row % 2 for row in range(60)]})
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        assert ("number" not in infer_schema(table, "y").names) == left_out
    assert [each.category for each in told] == [IdentifierWarning] * left_out
    assert "number" in infer_schema(table, "y", kinds={"number": "numeric"}).names
    assert "number" in infer_schema(table, "y", known=True).names


def test_a_whole_target_of_many_values_may_be_a_quantity() -> None:
    table = frame(y=[1, 2, 3, 4, 5, 6])
    with pytest.raises(InputError, match=r"6 classes in 6 rows.*--task regression"):
        infer_schema(table, "y")
    assert infer_schema(table, "y", task="regression").target.task == "regression"


def test_too_many_categories_stop_with_the_widest_columns() -> None:
    rows = 30_000
    table = pl.DataFrame({"wide": [f"v{row % 20_001}" for row in range(rows)], "y": [row % 2 for row in range(rows)]})
    with pytest.raises(InputError, match=r"20001 encoded inputs.*'wide' \(20001\).*--as wide=leave_out"):
        infer_schema(table, "y")
