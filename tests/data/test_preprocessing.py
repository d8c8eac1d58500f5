"""Facts of a preprocessor as a file: what is written comes back, and what is wrong is one sentence."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from seepage._core import InputError
from seepage.cli.main import app, main
from seepage.data import Preprocessing
from tests.faults.readers import FACTS

GOOD = '[[columns]]\nname = "age"\nas = "number"\n'


def test_whole_numbers_may_be_written_as_such() -> None:
    facts = Preprocessing.from_toml(GOOD + "shift = 40\nscale = 10\n")
    assert facts.numbers[0].shift == 40.0


def test_every_kind_comes_back() -> None:
    import tomli_w

    facts = Preprocessing.from_toml(tomli_w.dumps(FACTS))
    assert Preprocessing.from_toml(facts.to_toml()) == facts
    assert [each.kind for each in facts.columns] == ["number", "quantiles", "onehot", "codes"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("x = ", "is not valid TOML"),
        ("", r"needs \[\[columns\]\] entries"),
        ("columns = 3", r"needs \[\[columns\]\] entries"),
        (GOOD + "\n[more]\n", "and nothing else"),
        ('[[columns]]\nas = "number"', "has no name"),
        ('[[columns]]\nname = "a"', "needs as = 'number', 'quantiles', 'onehot', 'codes'"),
        ('[[columns]]\nname = "a"\nas = "numbr"', "needs as = 'number'"),
        (GOOD + "shft = 1.0", "has a key 'shft', which as = 'number' does not take"),
        (GOOD + "scale = 0.0", "scale: a scale must be above 0"),
        (GOOD + "shift = nan", "shift: input should be"),
        (GOOD + 'shift = "x"', "shift: input should be a valid number"),
        (GOOD + GOOD, "lists the column 'age' more than once"),
        ('[[columns]]\nname = "a"\nas = "onehot"', "has no categories"),
        ('[[columns]]\nname = "a"\nas = "onehot"\ncategories = ["x", "x"]', "the category 'x' is listed twice"),
        ('[[columns]]\nname = "a"\nas = "onehot"\ncategories = ["x", "y"]\ndrop = "z"', "drop is 'z'"),
        ('[[columns]]\nname = "a"\nas = "onehot"\ncategories = ["x", "y"]\nshift = [0.0]', "one number for each"),
        ('[[columns]]\nname = "a"\nas = "quantiles"\nvalues = [2.0, 1.0]\nlevels = [0.0, 1.0]', "must rise"),
        ('[[columns]]\nname = "a"\nas = "quantiles"\nvalues = [2.0, 3.0]\nlevels = [0.0, 0.5]', "from 0 to 1"),
        ("a = " + "[" * 5000, "nested too deep|not valid TOML"),
    ],
)
def test_what_is_wrong_is_one_sentence(text: str, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        Preprocessing.from_toml(text)


def test_files_that_cannot_be_read_are_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="There is no preprocessing file"):
        Preprocessing.read(tmp_path / "none.toml")
    with pytest.raises(InputError, match="cannot be read"):
        Preprocessing.read(tmp_path)
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="not UTF-8 text"):
        Preprocessing.read(tmp_path / "bytes.toml")


def test_a_file_is_not_written_over(tmp_path: Path) -> None:
    facts = Preprocessing.from_toml(GOOD)
    facts.write(tmp_path / "facts.toml")
    with pytest.raises(InputError):
        facts.write(tmp_path / "facts.toml")


def test_the_command_line_takes_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "facts.toml").write_text(GOOD)
    words = ["models", "check", "mlp", "--data", "clinic", "--preprocessing"]
    done = CliRunner().invoke(app, [*words, str(tmp_path / "facts.toml")])
    assert isinstance(done.exception, InputError)
    assert "drops the column" in str(done.exception)
    monkeypatch.setattr("sys.argv", ["seepage", *words, str(tmp_path / "none.toml")])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
