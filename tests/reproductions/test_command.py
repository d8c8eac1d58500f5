"""`seepage reproduce`: what it prints, lists and stores, and what it says to wrong words."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from seepage._core import InputError
from seepage.cli.main import app
from seepage.cli.reproduced import comparison_table
from tests.reproductions.test_stored import CELL, TABLE

SMALL = ["reproduce", "profiling", "--table", "4", "--scale", "0.0002", "--jobs", "1", "--only", "models=mlp"]
SMALL += ["--only", "batch_sizes=8", "--only", "attack_points=final", "--only", "attacks=profiling"]


def test_a_table_is_printed_and_stored(tmp_path: Path) -> None:
    out, store = tmp_path / "runs", tmp_path / "results"
    result = CliRunner().invoke(app, [*SMALL, "--out", str(out), "--store", str(store)], catch_exceptions=False)
    assert result.exit_code == 0
    assert "0.623" in result.output
    assert "clinic (for MIMIC-IV)" in result.output
    stored = json.loads((store / "profiling" / "4.json").read_text())
    (cell,) = stored["cells"]
    assert (cell["published"], cell["trials"]) == (0.623, 3)
    assert stored["runs"][0]["versions"]["torch"]
    assert stored["command"] == " ".join(["seepage", *SMALL[:6], *SMALL[8:]])
    assert str(tmp_path) not in json.dumps(stored)
    printed = CliRunner().invoke(app, [*SMALL, "--out", str(out), "--json"], catch_exceptions=False)
    assert json.loads(printed.stdout) == stored


def test_papers_and_tables_are_listed() -> None:
    every = CliRunner().invoke(app, ["reproduce", "--list"], catch_exceptions=False).output
    assert all(name in every for name in ("tableak", "cafe", "profiling", "property", "tabvfl"))
    one = CliRunner().invoke(app, ["reproduce", "tabvfl", "--list"], catch_exceptions=False).output
    assert "Absent guests: the cache beside zeros" in one


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "Which paper"),
        (["profilng"], "Did you mean 'profiling'"),
        (["tabvfl", "--table", "6.5"], "Unknown table of tabvfl '6.5'"),
        (["cafe", "--quick", "--scale", "0.5"], "one of --quick and --scale"),
        (["tabvfl", "--path", "rice.arff"], "not of the form name=value"),
        (["tableak", "--only", "models=a", "--only", "models=b"], "twice"),
        (["tableak", "--only", "modles=mlp_tableak"], "Did you mean 'models'"),
        (["cafe", "--scale", "2"], "must be at most 1"),
        (["cafe", "--jobs", "0"], "must be at least 1"),
    ],
)
def test_wrong_words_are_one_sentence(words: list[str], sentence: str) -> None:
    result = CliRunner().invoke(app, ["reproduce", *words])
    assert isinstance(result.exception, InputError)
    assert sentence in str(result.exception)


def test_what_differs_is_said_once_below_the_table() -> None:
    cells = [
        CELL.model_copy(update={"place": {"cell": name}, "differs": differs})
        for name, differs in (("a", ("fewer batches", "another model")), ("b", ("another model",)), ("c", ()))
    ]
    printed = Console(width=120, record=True, file=io.StringIO())
    printed.print(comparison_table(TABLE.model_copy(update={"cells": tuple(cells)})))
    text = printed.export_text()
    assert text.count("another model") == 1
    ends = [line.split()[-1] for line in text.splitlines() if line.strip().startswith(("a ", "b ", "c "))]
    assert ends == ["(2)", "(2)", "+1.0"]
