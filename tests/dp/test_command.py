"""`seepage dp` as a user types it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from seepage._core import InputError
from seepage.cli.main import app
from tests import cases
from tests.dp.configurations import opacus

BROKEN = "mod = LocalDpMod(clipping_norm=1.0, sensitivity=0.0001, epsilon=10.0, delta=1e-5)"
RIGHT = "mod = LocalDpMod(clipping_norm=1.0, sensitivity=2.0, epsilon=0.9, delta=1e-6)"


def run(*words: object) -> Result:
    return CliRunner().invoke(app, ["dp", *map(str, words)], catch_exceptions=False)


def told(result: Result) -> str:
    return " ".join(result.output.split())


@pytest.fixture
def client(tmp_path: Path) -> Path:
    return tmp_path / "client_app.py"


def test_a_broken_setting_is_told_and_ends_with_1(client: Path) -> None:
    client.write_text(BROKEN)
    result = run("check", client, "--rounds", 50, "--rows", 1000, "--measure")
    assert result.exit_code == 1
    text = told(result)
    assert "LocalDpMod (Flower) client_app.py, line 1" in text
    assert "claimed epsilon 10 recomputed epsilon 4.3e+10 at delta 1e-05, for the whole run" in text
    assert "epsilon at least 12.5 (95 %), which is more than was claimed" in text
    assert "the noise is 20,000 times too small. Set sensitivity=2." in text
    assert "0.1 % to guess it exactly, at most 100 % to read it exactly" in text
    assert text.endswith("1 setting: 3 wrong, 1 doubtful, 1 right.")


def test_a_right_setting_ends_with_0(client: Path) -> None:
    client.write_text(RIGHT)
    result = run("check", client, "--rounds", 1, "--rows", 1000)
    assert result.exit_code == 0
    assert "Claimed is epsilon 0.9, recomputed 0.7: not more." in told(result)
    assert told(result).endswith("0 wrong, 0 doubtful, 3 right.")


def test_json_is_json_for_all_kinds_of_epsilon(client: Path, tmp_path: Path) -> None:
    client.write_text(f"{RIGHT}\nother = LocalDpMod(c, 1, 1, 1e-6)\njob.to(PercentilePrivacy())\n")
    result = run("check", client, "--rounds", 1, "--json", "--measure")
    assert result.exit_code == 1
    found: list[dict[str, Any]] = json.loads(result.output)
    assert [each["what"] for each in found] == [
        "LocalDpMod (Flower)",
        "LocalDpMod (Flower)",
        "PercentilePrivacy (NVFlare)",
    ]
    assert found[0]["recomputed"] == pytest.approx(0.7, abs=1e-3)
    assert found[0]["measured_at_least"] < found[0]["recomputed"]
    assert [each["recomputed"] for each in found[1:]] == [None, "unbounded"]
    assert [each["holds"] for each in found] == [True, False, True]
    assert set(found[0]["findings"][0]) == {"severity", "check", "sentence", "remedy"}


def test_what_is_left_open_can_be_said(client: Path) -> None:
    client.write_text(opacus("noise_multiplier=cfg.sigma, max_grad_norm=1.0"))
    known = ("--rows", 10_000, "--batch-size", 100, "--rounds", 1, "--local-epochs", 5, "--delta", 1e-6)
    open_ = run("check", client, *known)
    assert open_.exit_code == 1
    assert (
        "noise_multiplier is cfg.sigma (line 8): it is not set in this file. Say it: --set noise_multiplier=..."
        in told(open_)
    )
    assert "1 epsilon could not be recomputed." in told(open_)
    said = run("check", client, *known, "--set", "noise_multiplier=1.1", "--claims", 2)
    assert said.exit_code == 0


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--rows", "none"), "Setting 'rows' is 'none': must be a whole number."),
        (("--rows", "0"), "Setting 'rows' is '0': must be at least 1."),
        (("--delta", "2"), "Setting 'delta' is '2': must be below 1."),
        (("--unit", "person"), "Unknown unit 'person'; there are: row, client."),
        (("--against", "servers"), "Did you mean 'server'?"),
        (("--claims", "-1"), "Setting 'claims' is '-1': must be above 0."),
        (("--prior", "1"), "Setting 'prior' is '1': must be below 1."),
        (("--set", "noise"), "--set 'noise' is not of the form name=value."),
    ],
)
def test_bad_options_are_one_sentence(client: Path, words: tuple[str, ...], sentence: str) -> None:
    client.write_text(RIGHT)
    with pytest.raises(InputError) as error:
        run("check", client, *words)
    assert sentence in str(error.value)


def test_no_file_is_an_error() -> None:
    with pytest.raises(InputError, match="Which files"):
        run("check")


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("table") / "people.csv"
    cases.frame().write_csv(path)
    return path


def test_an_audit_with_canaries(table: Path) -> None:
    words = ("audit", "--data", table, "--target", "target", "--rows", 100, "--canaries", 40, "--batch-size", 20)
    result = run(*words)
    assert result.exit_code == 0
    assert "trained on 100 rows, 25 noisy gradients, each with a share of 0.2 of the rows" in told(result)
    assert "Nothing speaks against the accountant's epsilon. A low measurement proves nothing." in told(result)
    found = json.loads(run(*words, "--json", "--noise", 0).output)
    assert found["upper"] == "unbounded"
    assert found["canaries"] == 40


def test_an_audit_of_a_training_without_its_noise_ends_with_1(table: Path) -> None:
    words = ("--data", table, "--target", "target", "--model", "mlp:norm=none:width=64", "--rows", 120, "--epochs", 3)
    result = run("audit", *words, "--batch-size", 120, "--canaries", 60, "--lowered", 10_000, "--claims", 1)
    assert result.exit_code == 1
    assert "More is told than the claim allows." in told(result)


def test_audits_that_cannot_be(table: Path) -> None:
    with pytest.raises(InputError, match="Which table"):
        run("audit")
    with pytest.raises(InputError, match="There is no file"):
        run("audit", "--data", "nowhere/rows.csv")
    with pytest.raises(InputError, match="200 canaries among 120 rows"):
        run("audit", "--data", table, "--target", "target", "--canaries", 200)
