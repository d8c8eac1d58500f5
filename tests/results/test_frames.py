from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from seepage._core import InputError
from seepage.results import Run
from seepage.results.export import export
from tests.report.example import a_cell, a_summary, every_study, records_of

STUDIES = every_study()


@pytest.mark.parametrize("study", STUDIES)
def test_every_cell_is_a_line(study: str) -> None:
    summary = STUDIES[study]
    short, whole = summary.to_frame(), summary.cells_frame()
    assert short.height == whole.height == len(summary.cells)
    for cell, line in zip(summary.cells, short.iter_rows(named=True), strict=True):
        assert {name: line[name] for name in cell.place} == cell.place
        assert line["trials"] == cell.trials
    assert short.width < whole.width


def test_headline_numbers_come_with_their_intervals() -> None:
    summary = a_summary()
    cell, line = summary.cells[0], summary.to_frame().row(0, named=True)
    accuracy = cell.metrics["accuracy"]
    assert accuracy is not None
    assert (line["accuracy"], line["accuracy_low"], line["accuracy_high"]) == (
        accuracy.mean,
        accuracy.low,
        accuracy.high,
    )
    assert line["rows_exact"] == cell.rows_exact


@pytest.mark.parametrize("study", ["rows", "vertical"])
def test_every_column_of_every_cell_is_a_line_that_keeps_the_attacks_name(study: str) -> None:
    summary = STUDIES[study]
    frame = summary.columns_frame()
    assert frame.height == sum(len(cell.columns) for cell in summary.cells)  # type: ignore[attr-defined]
    assert set(frame["attack"]) == {str(cell.place["attack"]) for cell in summary.cells}
    assert frame["read"].dtype == pl.Float64


def test_exported_columns_keep_the_attacks_name(tmp_path: Path) -> None:
    run = Run.create(tmp_path / "run", {})
    run.write("summary.json", a_summary(records_of(a_cell(attack="tableak"), 2)).to_json())
    export(run, tmp_path / "columns.csv", "columns")
    frame = pl.read_csv(tmp_path / "columns.csv")
    assert set(frame["attack"]) == {"tableak"}
    assert frame["read"].is_between(0, 1).all()


def test_revealed_rows_are_beside_what_was_read() -> None:
    row = {"cell": "c", "client": 1, "truth": {"cell": 3, "b": "x"}, "reconstruction": {"cell": 2.5, "b": "y"}}
    frame = a_summary(revealed=[row, row]).revealed_frame()
    assert frame.columns == ["cell", "client", "row", "true.cell", "read.cell", "true.b", "read.b"]
    assert frame.row(1) == ("c", 1, 1, 3, 2.5, "x", "y")


def test_what_a_study_does_not_have_is_one_sentence() -> None:
    with pytest.raises(InputError, match="run it with reveal=True"):
        STUDIES["rows"].revealed_frame()
    for study in ("property", "training"):
        with pytest.raises(InputError, match=f"The study {study} has no columns"):
            STUDIES[study].columns_frame()
        with pytest.raises(InputError, match=f"The study {study} reads no rows"):
            STUDIES[study].revealed_frame()
