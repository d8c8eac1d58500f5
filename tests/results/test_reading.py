"""Run folders that are not what a command needs: one sentence, never a traceback."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from seepage._core import InputError
from seepage.cli.main import app
from seepage.results import Run, Summary
from seepage.results.export import export
from seepage.results.property import read_property
from seepage.results.vertical import Value, VerticalCell, VerticalRun, read_vertical
from tests.report.example import a_cell, a_summary, records_of

CELL = VerticalCell(dataset="clinic", design="tabvfl", guests=2)


def a_run(folder: Path, summary: str = "") -> Run:
    run = Run.create(folder, {})
    run.write("summary.json", summary or a_summary(records_of(a_cell(), 2)).to_json())
    return run


@pytest.mark.parametrize(("kind", "said"), [("property", "property inference"), ("vertical", "vertical training")])
@pytest.mark.parametrize("command", ["gate", "compare", "export"])
def test_commands_for_audits_refuse_other_runs(tmp_path: Path, kind: str, said: str, command: str) -> None:
    folder = str(a_run(tmp_path / "run", json.dumps({"kind": kind, "schema_version": 1, "cells": [{}]})).path)
    words = {
        "gate": ["--run", folder, "--max-emr", "0"],
        "compare": [folder, folder],
        "export": [folder, str(tmp_path / "x.csv")],
    }
    with pytest.raises(InputError, match=f"is of {said}; gate, compare and export read audits"):
        CliRunner().invoke(app, [command, *words[command]], catch_exceptions=False)


def test_a_summary_without_cells_is_one_sentence() -> None:
    with pytest.raises(InputError, match="lacks cells"):
        Summary.from_json('{"schema_version": 1}')


def test_lines_of_a_plan_can_be_told_apart_in_a_notebook() -> None:
    one = a_summary(records_of(a_cell(), 2))
    both = a_summary([r for name in ("seed=0", "seed=1") for r in records_of(a_cell(variant=name), 2)])
    assert "variant" not in str(one)
    assert [line.split()[0] for line in str(both).splitlines()] == ["variant", "seed=0", "seed=1"]
    assert "<th>variant</th>" in both._repr_html_()


def test_a_csv_that_cannot_be_written(tmp_path: Path) -> None:
    run = a_run(tmp_path / "run")
    with pytest.raises(InputError, match=r"nope/x\.csv cannot be written: No such file or directory\.$"):
        export(run, tmp_path / "nope" / "x.csv")
    with pytest.raises(InputError, match="holds no records"):
        export(run, tmp_path / "x.csv", "records")


@pytest.mark.parametrize("text", ['{"kind": "vert', "[1", "\x00"])
def test_a_cut_summary_is_one_sentence(tmp_path: Path, text: str) -> None:
    run = a_run(tmp_path / "run", text)
    for read in (read_vertical, read_property):
        with pytest.raises(InputError, match=r"summary\.json is not valid JSON"):
            read(run.path)
    with pytest.raises(InputError, match="is not valid JSON"):
        CliRunner().invoke(app, ["report", str(run.path)], catch_exceptions=False)


def test_other_summaries_are_of_no_such_kind(tmp_path: Path) -> None:
    assert read_vertical(tmp_path) is None
    assert read_property(a_run(tmp_path / "run", "[]").path) is None


def test_a_cell_of_vertical_training_is_whole_or_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = VerticalRun.open_or_create(tmp_path / "run", {"seed": 1})

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr("os.fsync", full)
        with pytest.raises(InputError, match="The disk is full"):
            run.add(CELL, [Value("quality", "f1", 0.5)])
    assert not run.has(CELL)
    assert list((tmp_path / "run" / "records").iterdir()) == []
    run.add(CELL, [Value("quality", "f1", 0.5)])
    assert run.frame()["value"].to_list() == [0.5]
