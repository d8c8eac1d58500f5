"""What an error, a warning or a note advises works when it is followed."""

from __future__ import annotations

import re
import shlex
import warnings
from pathlib import Path

import polars as pl
import pytest

from seepage._core import InputError
from seepage.data.request import WORDS, Request
from seepage.data.source import look_at, open_source
from tests.tables.messy import TABLES, Messy

ADVICE = re.compile(r"--as (\S+|'[^']+')(?=[\s.;)]|$)")


def advised(told: str) -> list[tuple[str, str]]:
    """The readings that a sentence advises."""
    pairs = [shlex.split(each.rstrip(".;)"))[0].split("=") for each in ADVICE.findall(told)]
    return [(name, word) for name, word in pairs]


def frame(**columns: list[object]) -> pl.DataFrame:
    rows = 40
    base = {"age": [row % 9 for row in range(rows)], "y": [row % 2 for row in range(rows)]}
    more = {name: (cells * rows)[:rows] for name, cells in columns.items()}
    return pl.DataFrame(base | more, strict=False)


@pytest.mark.filterwarnings("ignore:Column .* is dropped")
@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ([[1, 2], [3]], {}),  # no type for a table
        ([1.5, float("inf"), 2.0], {}),
        ([1.5, float("inf"), 2.0], {"x": "number"}),
        (["a", "b"], {"x": "number"}),
        (["a", "b"], {"x": "date"}),
        (["a", "b"], {"x": "time"}),
        ([None], {"x": "number"}),
    ],
)
def test_following_an_error_ends_it(cells: list[object], said: dict[str, str]) -> None:
    table = frame(x=cells)
    with pytest.raises(InputError) as caught:
        open_source(Request(data=table, target="y", read_as=said))
    ways = advised(str(caught.value))
    assert ways
    for name, word in ways:
        assert open_source(Request(data=table, target="y", read_as={name: word})).table.schema.target.name == "y"


def test_following_a_warning_keeps_the_column() -> None:
    table = frame(
        nr=list(range(40)), name=[f"p{row}" for row in range(40)], same=[5], patient_id=list(range(0, 400, 10))
    )
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        left = open_source(Request(data=table, target="y")).table.schema
    assert left.names == ("age",)
    said = dict(pair for each in told for pair in advised(str(each.message)))
    assert set(said) == {"nr", "name", "same", "patient_id"}
    kept = open_source(Request(data=table, target="y", read_as=said)).table.schema
    assert set(kept.names) == {"age", *said}


@pytest.mark.parametrize("messy", [each for each in TABLES if "--as" in each.note], ids=lambda messy: messy.name)
def test_following_a_note_settles_the_doubt(messy: Messy, tmp_path: Path) -> None:
    path = tmp_path / messy.file
    path.write_bytes(messy.content)
    before, _ = look_at(Request(data=path, target="y"))
    ways = [pair for note in before.notes for pair in advised(note)]
    for name, word in ways:
        after, _ = look_at(Request(data=path, target="y", read_as={name: word}))
        assert not [note for note in after.notes if "--as" in note]
        assert next(each for each in after.columns if each.name == name).why == f"asked for ({word})"


def test_a_wrong_word_or_name_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Did you mean 'category'"):
        Request(data=frame(), target="y", read_as={"age": "categorical"})
    with pytest.raises(InputError, match="Did you mean 'age'"):
        open_source(Request(data=frame(), target="y", read_as={"agee": "number"}))
    with pytest.raises(InputError, match="cannot be dropped"):
        open_source(Request(data=frame(), target="y", read_as={"y": "leave_out"}))


@pytest.mark.parametrize("word", WORDS)
def test_a_named_data_set_can_be_overruled(word: str) -> None:
    known = open_source(Request(data="clinic")).table.schema
    request = Request(data="clinic", read_as={"age": word})
    if word in ("date", "day_first", "month_first", "time"):
        with pytest.raises(InputError, match="'age' can be read as a"):
            open_source(request)
        return
    schema = open_source(request).table.schema
    assert ("age" in schema.names) == (word != "leave_out")
    assert [c for c in schema.columns if c.name != "age"] == [c for c in known.columns if c.name != "age"]
    if word == "category":
        assert not schema.column("age").is_numeric


def test_the_target_can_be_overruled() -> None:
    table = frame(grade=[1, 2, 3])
    assert open_source(Request(data=table, target="grade")).table.schema.target.task == "multiclass"
    said = Request(data=table, target="grade", read_as={"grade": "number"})
    assert open_source(said).table.schema.target.task == "regression"
    many = frame(code=[100 + row for row in range(8)])
    said = Request(data=many, target="code", read_as={"code": "category"})
    assert open_source(said).table.schema.target.classes == tuple(str(100 + row) for row in range(8))
