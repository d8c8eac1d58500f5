"""A schema is written, edited and read again; a mistake in the file is one sentence."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seepage._core import InputError
from seepage.data import Column, Dropped, Schema, Target
from seepage.data.schema import LARGEST

words = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=12)
numbers = st.floats(-LARGEST, LARGEST)


@st.composite
def columns(draw: st.DrawFn, name: str) -> Column:
    kind = draw(st.sampled_from(["numeric", "categorical", "binary"]))
    sensitive = draw(st.booleans())
    if kind == "numeric":
        low, high = sorted((draw(numbers), draw(numbers)))
        whole = draw(st.booleans())
        return Column(name=name, kind="numeric", integer=whole, low=low, high=high, fill=low, sensitive=sensitive)
    size = (2, 2) if kind == "binary" else (1, 5)
    values = draw(st.lists(words, min_size=size[0], max_size=size[1], unique=True))
    return Column(name=name, kind=kind, categories=tuple(values), sensitive=sensitive)


@st.composite
def schemas(draw: st.DrawFn) -> Schema:
    names = draw(st.lists(words, min_size=3, max_size=7, unique=True))
    target = draw(
        st.one_of(
            st.just(Target(name=names[0], task="regression")),
            st.lists(words, min_size=2, max_size=2, unique=True).map(
                lambda classes: Target(name=names[0], task="binary", classes=tuple(classes))
            ),
        )
    )
    dropped = (Dropped(name=names[1], reason=draw(words)),)
    return Schema(columns=tuple(draw(columns(name)) for name in names[2:]), target=target, dropped=dropped)


@given(schemas())
def test_toml_round_trip(schema: Schema) -> None:
    assert Schema.from_toml(schema.to_toml()) == schema


def small() -> Schema:
    return Schema(
        columns=(
            Column(name="age", kind="numeric", integer=True, low=18, high=90, fill=50),
            Column(name="sex", kind="binary", categories=("f", "m")),
        ),
        target=Target(name="died", task="binary", classes=("no", "yes")),
    )


def test_files_round_trip_and_are_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "schema.toml"
    small().write(path)
    assert Schema.read(path) == small()
    with pytest.raises(InputError, match="exists already"):
        small().write(path)


def test_a_missing_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="There is no schema file"):
        Schema.read(tmp_path / "none.toml")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("[target]", "[target", "not valid TOML"),
        ("[target]", "[goal]", "Unknown key in schema"),
        ('task = "binary"', 'task = "binery"', "Did you mean 'binary'"),
        ('kind = "numeric"', 'kind = "number"', "Unknown kind of column 'age'"),
        ('name = "sex"', 'name = "age"', "lists the column 'age' more than once"),
        ("low = 18", "low = 100", "low 100.* is above high 90"),
        ("low = 18", "lowest = 18", "Unknown key"),
        ('name = "age"', "fill = 0", "has no name|Cannot overwrite"),
        ('    "m",\n', '    "m",\n    "x",\n', "is binary but has 3 categories"),
        ('    "m",\n', '    "f",\n', "list of different categories"),
    ],
)
def test_every_mistake_in_the_file_is_one_sentence(old: str, new: str, words: str) -> None:
    text = small().to_toml()
    assert old in text
    with pytest.raises(InputError, match=words):
        Schema.from_toml(text.replace(old, new, 1))


def test_a_file_without_columns_is_refused() -> None:
    with pytest.raises(InputError, match="at least one"):
        Schema.from_toml('[target]\nname = "y"\ntask = "binary"\n')


@pytest.mark.parametrize(
    "text",
    [
        'target = 3\n[[columns]]\nname = "a"\nkind = "numeric"\n',
        'columns = 3\n[target]\nname = "y"\ntask = "binary"\n',
        'columns = [1]\n[target]\nname = "y"\ntask = "binary"\n',
        '[target]\nname = "y"\ntask = "binary"\n[[columns]]\nname = "a"\nkind = "numeric"\nlow = "x"\n',
        '[target]\nname = "y"\ntask = "binary"\n[[columns]]\nname = "a"\nkind = "binary"\ncategories = 5\n',
        '[target]\nname = "y"\ntask = "binary"\n[[columns]]\nname = "a"\nkind = "numeric"\n[[dropped]]\nname = "b"\n',
    ],
)
def test_wrong_types_in_the_file_are_bad_input_too(text: str) -> None:
    with pytest.raises(InputError):
        Schema.from_toml(text)


def test_sensitive_columns_are_marked_by_name() -> None:
    schema = small().with_sensitive(("sex",))
    assert [column.sensitive for column in schema.columns] == [False, True]
    with pytest.raises(InputError, match="Did you mean 'sex'"):
        small().with_sensitive(("sexx",))


def test_folders_and_other_files_are_said_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="it is a folder"):
        Schema.read(tmp_path)
    with pytest.raises(InputError, match="cannot be written: No such file or directory"):
        small().write(tmp_path / "none" / "schema.toml")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="not UTF-8"):
        Schema.read(tmp_path / "binary.toml")
