"""What is written for spreadsheets is nothing that they compute."""

from __future__ import annotations

import csv
from pathlib import Path

import polars as pl
import pytest

import seepage
from seepage.data import clinic
from seepage.results import Run
from seepage.results.export import What, as_text, export

EVIL = "=cmd|' /C calc'!A0"


@pytest.mark.parametrize("what", ["cells", "columns", "records"])
def test_a_column_named_as_a_formula_is_a_text(tmp_path: Path, what: What) -> None:
    frame = clinic(rows=200).rename({"sex": EVIL, "age": "@SUM(A1)", "smoker": "+1"}, strict=False)
    seepage.audit(
        frame,
        target="died",
        batch_size=2,
        trials=1,
        clients=2,
        exposure=0,
        attack_points="initialized",
        attack_options={"steps": 2},
        out=tmp_path / "run",
    )
    assert export(Run.open(tmp_path / "run"), tmp_path / "out.csv", what) > 0
    with (tmp_path / "out.csv").open() as lines:
        cells = [cell for line in csv.reader(lines) for cell in line]
    for cell in cells:
        assert not cell.startswith(("=", "+", "@", "\t", "\r"))
        assert not cell.startswith("-") or float(cell) < 0
    assert (f"'{EVIL}" in cells) is (what != "cells")


def test_texts_are_kept_apart_from_formulas_and_numbers_stay_numbers() -> None:
    begins = ["=1+1", "+1", "-1", "@A1", "\tx", "\rx", "plain", "", None, "a=b"]
    frame = pl.DataFrame({"=head": begins, "number": [-1.5, *[2.0] * 9]})
    shown = as_text(frame)
    assert shown["'=head"].to_list() == [*(f"'{text}" for text in begins[:6]), "plain", "", None, "a=b"]
    assert shown["number"].to_list() == frame["number"].to_list()
    assert as_text(frame.with_columns(pl.col("=head").cast(pl.Categorical)))["'=head"][0] == "'=1+1"
