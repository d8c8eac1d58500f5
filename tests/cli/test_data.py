"""`seepage data` as a user types it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from seepage._core import InputError
from seepage.cli.data import app
from seepage.data import DATASETS, Schema, clinic


@pytest.fixture(autouse=True)
def _offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEEPAGE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_list_shows_every_data_set_uncut() -> None:
    lines = run("list").splitlines()
    assert [line.split()[0] for line in lines] == ["name", *DATASETS]
    assert "..." not in "".join(lines)
    assert "…" not in "".join(lines)


def test_list_as_json() -> None:
    facts = {entry["name"]: entry for entry in json.loads(run("list", "--json"))}
    assert list(facts) == list(DATASETS)
    assert facts["adult"]["rows"] == 32_561
    assert facts["adult"]["package"] == "mglearn==0.2.0"
    assert facts["mimic_iv"]["rows"] is None
    assert facts["clinic"]["cached"] is True
    assert facts["adult"]["cached"] is False


def test_fetch_says_what_it_is_and_under_which_terms() -> None:
    text = run("fetch", "clinic")
    assert "5,000 rows x 28 columns" in text
    assert "9 numeric, 18 categorical" in text
    assert "Apache-2.0" in text


def test_fetch_from_your_own_file(tmp_path: Path) -> None:
    path = tmp_path / "law.csv"
    rows = "".join(f"{i},{'AB'[i % 2]},{1 + i % 2},{30 + i},{i % 2}\n" for i in range(20))
    path.write_text(",race,sex,LSAT,first_pf\n" + rows)
    text = run("fetch", "law_school", "--source", "file", "--path", str(path))
    assert "20 rows x 4 columns" in text
    assert str(path) in text


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("fetch", "adlt"), "Did you mean 'adult'"),
        (("fetch", "adult", "--source", "mirror"), "--source openml"),
        (("fetch", "adult", "--source", "file"), "--path FILE"),
        (("schema", "nowhere.csv", "--target", "y"), "There is no file"),
        (("schema", "nowhere.csv"), "--target is needed"),
        (("schema", "clinic", "--target", "dead"), "Unknown target column 'dead'"),
    ],
)
def test_bad_input_reaches_the_command_line_as_one_sentence(arguments: tuple[str, ...], words: str) -> None:
    with pytest.raises(InputError) as caught:
        run(*arguments)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_schema_is_printed_or_written(tmp_path: Path) -> None:
    table, out = tmp_path / "clinic.csv", tmp_path / "schema.toml"
    clinic(300).write_csv(table)
    printed = Schema.from_toml(run("schema", str(table), "--target", "died", "--drop", "ward"))
    assert "ward" not in printed.names
    assert "Wrote" in run("schema", str(table), "--target", "died", "--drop", "ward", "--out", str(out))
    assert Schema.read(out) == printed
    with pytest.raises(InputError, match="exists already"):
        run("schema", str(table), "--target", "died", "--out", str(out))


def test_schema_of_a_named_data_set_needs_no_target() -> None:
    assert Schema.from_toml(run("schema", "clinic")).target.name == "died"
    assert Schema.from_toml(run("schema", "clinic", "--target", "sex")).target.classes == ("female", "male")
