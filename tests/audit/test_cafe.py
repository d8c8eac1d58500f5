"""`seepage audit --protocol vertical`: people's rows from gradients of batches that the server chose."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from seepage._core import InputError
from seepage.cli.main import app
from seepage.results import Run
from seepage.studies.rows.settings import make_settings

SMALL = ["--protocol", "vertical", "--data", "clinic", "--model", "mlp_tableak", "--people", "60", "--batch-size", "6"]


def test_closed_form_reads_everybody_and_the_report_says_so(tmp_path: Path) -> None:
    out = tmp_path / "run"
    result = CliRunner().invoke(app, ["audit", *SMALL, "--trials", "1", "--out", str(out)], catch_exceptions=False)
    assert result.exit_code == 0
    (cell,) = Run.open(out).summary().cells
    assert (cell["attack"], cell["rows_exact"], cell["rows"]) == ("cafe_closed_form", 60, 60)
    page = (out / "report.html").read_text()
    assert "which rows it chose for the batch" in page
    assert "How a server reads rows in vertical learning" in page
    assert "The server saw 66 batches of 60 people." in page


def test_fake_gradients_are_a_defence_that_can_be_named(tmp_path: Path) -> None:
    words = [*SMALL, "--defense", "fake_gradients:drawn=20", "--exposure", "1", "--trials", "1", "--batches", "90"]
    result = CliRunner().invoke(app, ["audit", *words, "--out", str(tmp_path / "run")], catch_exceptions=False)
    assert result.exit_code == 0
    (cell,) = Run.open(tmp_path / "run").summary().cells
    assert cell["rows_exact"] < 10


def test_noise_on_every_row_hides_people(tmp_path: Path) -> None:
    words = [*SMALL, "--defense", "dp_sgd:clip=1:noise=1,gaussian_noise:0.1", "--trials", "1"]
    result = CliRunner().invoke(app, ["audit", *words, "--out", str(tmp_path / "run")], catch_exceptions=False)
    assert result.exit_code == 0
    summary = Run.open(tmp_path / "run").summary()
    assert [cell["rows_exact"] for cell in summary.cells] == [0, 0]
    noisy, _ = summary.document["vertical"]["losses"]  # what each defence costs stands beside what it hides
    assert noisy["defense"].startswith("dp_sgd")
    assert noisy["points"][0][0] == 0
    assert noisy["points"][-1][0] == 66
    assert "What each defence costs" in (tmp_path / "run" / "report.html").read_text()


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"protocol": "vertical", "attacks": ("caffe",)}, "Did you mean 'cafe'"),
        ({"protocol": "vertical", "defenses": ("fake_gradient",)}, "Did you mean 'fake_gradients'"),
        ({"protocol": "fedsgd", "people": 5}, "belongs to the protocol vertical"),
        ({"protocol": "vertical", "people": 0}, "at least 1"),
    ],
)
def test_bad_settings_are_one_sentence(settings: dict[str, object], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        make_settings(**settings)


def test_a_batch_of_everybody_separates_nobody(tmp_path: Path) -> None:
    words = ["audit", *SMALL[:-1], "60", "--out", str(tmp_path / "run")]
    result = CliRunner().invoke(app, words)
    assert isinstance(result.exception, InputError)
    assert "all batches are the same" in str(result.exception)
    assert not (tmp_path / "run").exists()


def test_ids_can_be_hidden_or_renumbered_by_name_and_rows_are_revealed_on_request_only(tmp_path: Path) -> None:
    words = [*SMALL, "--defense", "hidden_ids,remapped_ids", "--trials", "1"]
    result = CliRunner().invoke(app, ["audit", *words, "--out", str(tmp_path / "run")], catch_exceptions=False)
    assert result.exit_code == 0
    summary = Run.open(tmp_path / "run").summary()
    read = {cell["defense"]: cell["rows_exact"] for cell in summary.cells}
    assert read["remapped_ids"] == 60 > 6 > read["hidden_ids"]  # renumbered rows are all there, and not whose they are
    assert "revealed" not in summary.document


def test_the_bn_regulariser_gets_its_statistics(tmp_path: Path) -> None:
    words = [*SMALL, "--attacks", "gradinversion_bn", "--batches", "20", "--trials", "1", "--reveal"]
    result = CliRunner().invoke(app, ["audit", *words, "--out", str(tmp_path / "run")], catch_exceptions=False)
    assert result.exit_code == 0
    summary = Run.open(tmp_path / "run").summary()
    assert summary.cells[0]["rows_exact"] < 10
    assert len(summary.document["revealed"]) == 15
