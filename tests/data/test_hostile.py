"""Files that nobody should have written: one sentence each, and no cell of the table in it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from seepage._core import InputError
from seepage._core.paths import user_path
from seepage.data import Schema
from seepage.data.request import Request
from seepage.data.source import open_source
from seepage.runs import make_plan, open_sources, read_plan

RANDOM = np.random.default_rng(0)
ROWS = 60


def written(folder: Path, **columns: Any) -> Path:
    base: dict[str, Any] = {"a": RANDOM.integers(0, 90, ROWS), "b": RANDOM.choice(["x", "y"], ROWS)}
    path = folder / "table.csv"
    pl.DataFrame(base | {"died": RANDOM.choice(["yes", "no"], ROWS)} | columns).write_csv(path)
    return path


def told(path: Path, **said: Any) -> str:
    with pytest.raises(InputError) as error:
        open_source(Request(**{"data": path, "target": "died"} | said))
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize("size", [1e31, 1e300, 1.7e308])
@pytest.mark.parametrize("column", ["c", "died"])
def test_numbers_that_nothing_can_be_computed_with(tmp_path: Path, size: float, column: str) -> None:
    values = RANDOM.uniform(-1, 1, ROWS) * size
    values[0] = size
    sentence = told(written(tmp_path, **{column: values}))
    assert f"Column {column!r} has" in sentence
    assert "beyond 1e+30" in sentence
    assert not any(str(value) in sentence for value in values)


def test_large_numbers_are_read(tmp_path: Path) -> None:
    assert len(open_source(Request(data=written(tmp_path, c=RANDOM.uniform(-1, 1, ROWS) * 1e29), target="died")).table)


@pytest.mark.parametrize("kind", ["binary", "list", "struct"])
def test_columns_of_other_types(tmp_path: Path, kind: str) -> None:
    cells: dict[str, list[Any]] = {"binary": [os.urandom(4)], "list": [[1, 2]], "struct": [{"z": 1}]}
    frame = pl.read_csv(written(tmp_path)).with_columns(pl.Series("c", cells[kind] * ROWS))
    frame.write_parquet(tmp_path / "table.parquet")
    assert "Column 'c' is of type" in told(tmp_path / "table.parquet")


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_a_panic_of_the_reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str) -> None:
    path = written(tmp_path)
    pl.read_csv(path).write_parquet(tmp_path / "table.parquet")

    def panicked(*_: object, **__: object) -> None:
        raise pl.exceptions.PanicException("index out of bounds: 61230, secret")

    monkeypatch.setattr(pl, f"read_{ending}", panicked)
    assert "secret" not in told(path.with_suffix(f".{ending}"))


@pytest.mark.parametrize("width", [2_000, pytest.param(20_000, marks=pytest.mark.slow)])
def test_a_header_of_thousands_of_names(tmp_path: Path, width: int) -> None:
    names = [f"column_{number}" for number in range(width)]
    path = tmp_path / "wide.csv"
    path.write_text("\n".join([",".join(names), *(",".join(["1"] * len(names)) for _ in range(3))]))
    assert "Unknown target column 'died'" in told(path)


@pytest.mark.parametrize(
    "said",
    [{}, {"target": "column_3"}, {"drop": ("died",), "target": "a"}, {"read_as": {"x": "number"}}, {"group": "died"}],
)
def test_a_first_line_that_is_a_row_is_not_shown(tmp_path: Path, said: dict[str, Any]) -> None:
    path = tmp_path / "headless.csv"
    path.write_text("\n".join(f"{71230 + row},secret{row},{'ab'[row % 2]}" for row in range(40)))
    sentence = told(path, **said)
    assert "no line with names" in sentence
    assert not any(cell in sentence for cell in ("71230", "secret0"))


@pytest.mark.parametrize("text", ["71230,71230,secret\n1,2,3", "71230 secret\n5 6"])
def test_a_first_line_that_is_a_strange_row_is_not_shown(tmp_path: Path, text: str) -> None:
    (tmp_path / "headless.csv").write_text(text)
    sentence = told(tmp_path / "headless.csv")
    assert "71230" not in sentence
    assert "secret" not in sentence


def test_a_header_is_told_where_there_is_one(tmp_path: Path) -> None:
    assert "there are: a, b, died" in told(written(tmp_path), target="dead")
    path = tmp_path / "pixels.csv"  # names that are numbers, and a column that has a real name
    path.write_text("\n".join(["0,1,label", *(f"{row},{row % 5},{row % 2}" for row in range(30))]))
    assert "there are: 0, 1, label" in told(path)


DEEP = "[" * 5000 + "]" * 5000
LONG = "9" * 5000


NUMBER = '[target]\nname = "d"\ntask = "regression"\n[[columns]]\nname = "a"\nkind = "numeric"\nlow = '


@pytest.mark.parametrize("text", [f"x = {DEEP}", f"x = {LONG}", f"{NUMBER}1{'0' * 400}", f"{NUMBER}1e300"])
def test_schemas_beyond_reason(text: str) -> None:
    with pytest.raises(InputError) as error:
        Schema.from_toml(text)
    assert len(str(error.value)) < 300


@pytest.mark.parametrize("text", [f"x = {DEEP}", f"seed = {LONG}", f"seed = {'9' * 4000}", f"trials = {'9' * 400}"])
def test_plans_beyond_reason(tmp_path: Path, text: str) -> None:
    (tmp_path / "plan.toml").write_text(f'data = "clinic"\n{text}')
    with pytest.raises(InputError) as error:
        read_plan(tmp_path / "plan.toml")
    assert len(str(error.value)) < 400


@pytest.mark.parametrize("said", [{"data": "a\0b.csv"}, {"data": "clinic", "schema_file": "a\0b"}])
def test_names_that_no_file_has(said: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="zero byte"):
        open_sources(make_plan({"target": "died"} | said))
    with pytest.raises(InputError, match="zero byte"):
        user_path("a\0b")
