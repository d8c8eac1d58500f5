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


MESSY = "\n".join(
    ["zip;balance;born;secret word;died"]
    + [
        f"0{1000 + row % 9};{1 + row % 7}.{row + 100},50 €;{1 + row % 28:02d}.03.1980;Codeword{row};{row % 2}"
        for row in range(60)
    ]
    + ["01000;5,00 €;01.01.1970;Codeword;"]
)


@pytest.fixture
def messy(tmp_path: Path) -> str:
    path = tmp_path / "messy.csv"
    path.write_text(MESSY)
    return str(path)


def test_check_says_what_is_read_why_and_what_is_done(messy: str) -> None:
    text = run("check", messy, "--target", "died")
    lines = {line.split()[0]: " ".join(line.split()) for line in reversed(text.splitlines()) if line.strip()}
    assert "60 rows, 3 input columns (2 numbers, 1 category), target died (2 classes)" in text
    assert "category leading zeros 9 - 99999 9 categories" in lines["zip"]
    assert "decimal commas, grouped thousands" in lines["balance"]
    assert "date dates, day first 28 - 99.99.9999 number: days since 1970" in lines["born"]
    assert "left out: nearly every text differs" in lines["secret"]
    assert "note: 1 of 61 rows has no target (died) and is left out." in text


def test_check_shows_no_cell_unless_asked(messy: str) -> None:
    text = run("check", messy, "--target", "died")
    assert not [word for word in ("Codeword", "01000", "€ 1", "1980") if word in text]
    assert "9.999,99 €" in text
    assert "Codeword1" in run("check", messy, "--target", "died", "--reveal")


def test_check_needs_no_target_and_can_be_overruled(messy: str) -> None:
    assert "No target is named" in run("check", messy)
    text = run("check", messy, "--as", "zip=number", "--as", "secret word=category", "--as", "born=leave_out")
    assert "asked for (number)" in text
    assert "61 categories" in text
    assert "left out: dropped by the user" in text
    with pytest.raises(InputError, match="Did you mean 'category'"):
        run("check", messy, "--as", "zip=categori")
    with pytest.raises(InputError, match=r"There is no file nowhere\.csv"):
        run("check", "nowhere.csv")
    with pytest.raises(InputError, match="Which table"):
        run("check")


def test_check_takes_named_data_sets() -> None:
    text = run("check", "clinic")
    assert "as documented" in text
    assert "target died (2 classes)" in text


@pytest.mark.filterwarnings("ignore:Column .* is dropped")
def test_a_schema_remembers_what_was_overruled(messy: str, tmp_path: Path) -> None:
    run("schema", messy, "--target", "died", "--as", "zip=number", "--out", str(tmp_path / "s.toml"))
    schema = Schema.read(tmp_path / "s.toml")
    assert schema.column("zip").is_numeric
    assert (schema.column("zip").read_as, schema.column("balance").read_as) == ("number", "decimal_comma")
    assert "asked for (number)" in run("check", messy, "--schema", str(tmp_path / "s.toml"))
