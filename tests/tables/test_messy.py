"""Every messy table is read as a person would read it, and nothing is guessed in silence."""

from __future__ import annotations

import math
import warnings
from pathlib import Path

import pytest

from seepage.data.request import Request
from seepage.data.schema import UNKNOWN
from seepage.data.source import Source, open_source
from tests.tables.messy import OUT, TABLES, Messy

# What is only told about the file, or about a column that is there for another table's sake.
QUIET = ("is read as", "Excel's", "above the names", "sheets")


def opened(messy: Messy, folder: Path) -> Source:
    path = folder / messy.file
    path.write_bytes(messy.content)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return open_source(Request(data=path, target="y", read_as=dict(messy.said)))


def test_there_are_enough() -> None:
    assert len(TABLES) >= 40
    assert len({each.name for each in TABLES}) == len(TABLES)


@pytest.mark.parametrize("messy", TABLES, ids=lambda messy: messy.name)
def test_every_column_is_read_right(messy: Messy, tmp_path: Path) -> None:
    source = opened(messy, tmp_path)
    schema, frame = source.table.schema, source.table.to_frame()
    assert {*schema.names, *(each.name for each in schema.dropped)} == set(messy.expected)
    for name, values in messy.expected.items():
        if values == OUT:
            assert name not in schema.names
            continue
        column = schema.column(name)
        assert column.is_numeric == all(isinstance(value, int | float | None) for value in values)
        found = frame[name].head(len(values)).to_list()
        for value, cell in zip(values, found, strict=True):
            assert cell != UNKNOWN
            if column.is_numeric:
                filled = round(column.fill) if column.integer else column.fill
                assert math.isclose(cell, filled if value is None else float(str(value)))
            else:
                assert cell == value


@pytest.mark.parametrize("messy", TABLES, ids=lambda messy: messy.name)
def test_what_is_in_doubt_is_said_and_nothing_else(messy: Messy, tmp_path: Path) -> None:
    seen = opened(messy, tmp_path).overview
    assert seen is not None
    told = " ".join(seen.notes)
    assert messy.note in told
    if not messy.note:
        assert not [note for note in seen.notes if not any(word in note for word in QUIET)]
    for each in seen.columns:
        assert each.read_as
        assert each.use
        assert each.why or each.use.startswith("left out")


@pytest.mark.parametrize("messy", TABLES, ids=lambda messy: messy.name)
def test_a_written_schema_reads_the_same(messy: Messy, tmp_path: Path) -> None:
    """The schema remembers how cells were written: given back, it makes the same table."""
    before = opened(messy, tmp_path)
    before.table.schema.write(tmp_path / "schema.toml")
    after = open_source(Request(data=tmp_path / messy.file, schema_file=tmp_path / "schema.toml"))
    assert after.digest == before.digest
