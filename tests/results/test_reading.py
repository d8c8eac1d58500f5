"""Run folders that are not what a command needs: one sentence, never a traceback."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from seepage._core import InputError
from seepage.cli.main import app
from seepage.results import Run, Summary, read_summary
from seepage.results.export import export
from seepage.results.reading import check_form, parse_summary
from seepage.results.store import STORE_VERSION
from tests.report.example import a_cell, a_summary, every_study, records_of


def a_run(folder: Path, summary: str = "", **head: object) -> Run:
    run = Run.create(folder, dict(head))  # type: ignore[arg-type]
    run.write("summary.json", summary or a_summary(records_of(a_cell(), 2)).to_json())
    return run


@pytest.mark.parametrize("summary", every_study().values(), ids=every_study())
def test_what_was_written_is_read_back(tmp_path: Path, summary: Summary) -> None:
    assert read_summary(a_run(tmp_path / "run", summary.to_json(), store_version=STORE_VERSION)) == summary


OLD_FORMS = {
    "an audit of rows": {"store_version": 2, "dataset": "adult"},
    "property inference": {"kind": "property", "settings": {}},
    "vertical training": {"kind": "vertical", "settings": {}},
}


@pytest.mark.parametrize("head", OLD_FORMS.values(), ids=OLD_FORMS)
@pytest.mark.parametrize("command", ["report", "compare", "export", "records", "gate"])
def test_a_run_of_an_earlier_form_is_one_sentence(tmp_path: Path, head: dict[str, object], command: str) -> None:
    folder = str(a_run(tmp_path / "run", json.dumps({"schema_version": 1, "cells": []}), **head).path)
    words = {
        "report": ["report", folder],
        "gate": ["gate", "--run", folder, "--max-emr", "0"],
        "compare": ["compare", folder, folder],
        "export": ["export", folder, str(tmp_path / "x.csv")],
        "records": ["export", folder, str(tmp_path / "x.csv"), "--what", "records"],
    }
    with pytest.raises(
        InputError, match=r"was written by an earlier version .* repeat it with another --out\.$"
    ) as told:
        CliRunner().invoke(app, words[command], catch_exceptions=False)
    assert folder in str(told.value)
    assert not (tmp_path / "x.csv").exists()


def test_a_run_of_a_later_form_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"a later version of Seepage, .* read it with that version\.$"):
        check_form(a_run(tmp_path / "run", store_version=STORE_VERSION + 1))


def test_a_summary_of_version_1_alone_says_so() -> None:
    with pytest.raises(InputError, match="schema version 1; this Seepage reads version 3"):
        parse_summary('{"schema_version": 1}')


def test_a_run_that_is_not_finished_says_so(tmp_path: Path) -> None:
    run = Run.create(tmp_path / "run", {"store_version": STORE_VERSION})
    with pytest.raises(
        InputError, match=r"is not finished: it has no summary\.json, and nothing in it can be read yet"
    ):
        CliRunner().invoke(app, ["report", str(run.path)], catch_exceptions=False)


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


@pytest.mark.parametrize("content", [b'{"study": "rows', b"[1", b"\x00", b"\xff"])
def test_a_cut_summary_is_one_sentence(tmp_path: Path, content: bytes) -> None:
    run = a_run(tmp_path / "run")
    run.write("summary.json", content)
    with pytest.raises(InputError, match=r"summary\.json is damaged, or was changed"):
        CliRunner().invoke(app, ["report", str(run.path)], catch_exceptions=False)
