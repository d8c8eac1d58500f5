"""Tables of papers, run again: published numbers are facts with a source, ours stand beside them, less work is said."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from rich.console import Console
from typer.testing import CliRunner

from seepage._core import InputError, silent
from seepage.cli.main import app
from seepage.cli.reproduce import _shown
from seepage.reproductions import PAPERS, Effort, cafe, find, property, published, reproduce
from seepage.reproductions.line import Line, line
from seepage.reproductions.plan_file import PLANS
from seepage.runs.plan import read_plan

ROWS = {"tableak": 748, "cafe": 223, "profiling": 1601, "property": 448, "tabvfl": 161}


@pytest.mark.parametrize("paper", PAPERS)
def test_every_published_number_is_there(paper: str) -> None:
    numbers = published(paper)
    assert len(numbers) == ROWS[paper]
    assert all(each.table and each.metric for each in numbers)


def test_a_number_is_found_by_what_stands_behind_it() -> None:
    found = find(published("cafe"), "3", method="CAFE", metric="psnr", dataset="MNIST", batch_size="100")
    assert found is not None
    assert found.value == 47.5
    assert find(published("cafe"), "3", method="CAFE", metric="psnr", dataset="MNIST", batch_size="7") is None


def test_a_line_has_an_interval_where_there_are_trials() -> None:
    made = line("2", "cell", "psnr", [1.0, 2.0, 3.0], None)
    assert made.low is not None
    assert made.high is not None
    assert made.low < made.ours == 2.0 < made.high
    assert line("2", "cell", "psnr", [1.0], None).low is None
    assert Line(table="2", cell="", metric="", ours=3.0, published=1.0, spread=0.5).deviations == 4.0


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sixty random pictures."""

    def pictures(rows: int, begin: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
        random = torch.Generator().manual_seed(begin)
        return torch.rand(rows, 784, generator=random), torch.randint(0, 10, (rows,), generator=random)

    read = cafe.read
    monkeypatch.setattr(cafe, "read", lambda name: replace(read(name), rows=60))
    monkeypatch.setattr(cafe, "digits", pictures)


def test_the_closed_form_stands_beside_descent(small: None) -> None:
    lines = list(cafe.TABLES["6"](Effort(0.0025, 0, silent)))
    assert [each.published for each in lines] == [43.15, 43.15, 39.28, 39.28]
    closed, descent = lines[0], lines[1]
    assert closed.ours > 60 > descent.ours
    assert "the paper has 8,000" in descent.note


@pytest.mark.parametrize(
    ("table", "name", "found"),
    [
        ("2", "competitors", [43.15, 43.15, 7.96, 7.84, 3.86, 13.38, 9.24]),
        ("7", "rates", [31.82, 31.82, 28.42, 28.42, 23.6, 23.6, None, None, None, None]),
    ],
)
def test_cells_have_their_published_numbers(table: str, name: str, found: list[float | None]) -> None:
    plan = cafe.read(name)
    pairs = [(scene, each) for scene in plan.scenes for each in plan.attacks]
    numbers = [cafe.theirs(table, each, scene) for scene, each in pairs]
    assert [each and each.value for each in numbers] == found


@pytest.mark.parametrize("path", sorted((PLANS / "cafe").glob("*.toml")), ids=lambda path: path.stem)
def test_every_plan_of_document_001_is_a_table(path: Path) -> None:
    if path.stem == "own":
        assert read_plan(path)["protocol"] == "vertical"
        return
    plan = cafe.read(path.stem)
    assert plan.scenes
    assert [plan.made(name) for name in plan.attacks] or plan.defences
    head = path.read_text().split(":")[0]
    assert head.rpartition(" ")[2] in cafe.TABLES


@pytest.mark.parametrize(
    ("name", "runs"), [("losses", 1), ("hierarchy", 1), ("sequential_50_50", 4), ("sequential_70_30", 4)]
)
def test_every_plan_of_document_003_is_read(name: str, runs: int) -> None:
    read = list(property.read(name, Effort(0.25, 3, silent)))
    assert len(read) == runs
    assert {(each.models, each.seed, each.rows) for each in read} == {(576, 3, 11_971)}
    assert len({(each.shadow_pool, each.shadow_epochs) for each in read}) == runs


@pytest.mark.slow
def test_training_losses_of_defences_stand_beside_the_papers(small: None) -> None:
    lines = list(cafe.table_11(Effort(0.005, 0, silent)))
    start = [each.ours for each in lines if each.cell.endswith(", 0 batches")]
    assert len(start) == 7
    assert max(start) - min(start) < 1e-6
    assert {each.published for each in lines if each.cell.endswith(", 0 batches")} == {2.77, 2.78, None}
    read = {each.cell.split(",")[0]: each.ours for each in lines if each.metric == "psnr"}
    assert read["True gradients"] > 30 > 15 > read["Fake gradients"]


def test_bad_input_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Did you mean 'cafe'"):
        reproduce("cafo", "2")
    with pytest.raises(InputError, match="Unknown table of cafe '99'"):
        reproduce("cafe", "99")
    with pytest.raises(InputError, match="share of the published work"):
        reproduce("cafe", "2", scale=2.0)
    there = tmp_path / "lines.json"
    there.write_text("{}")
    runner = CliRunner()
    result = runner.invoke(app, ["reproduce", "cafe", "--out", str(there)])
    assert isinstance(result.exception, InputError)
    assert "not overwritten" in str(result.exception)
    result = runner.invoke(app, ["reproduce", "cafe", "--quick", "--scale", "0.5"])
    assert "one of --quick, --scale" in str(result.exception)


@pytest.mark.slow
@pytest.mark.network
def test_the_command_prints_and_writes_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    out = tmp_path / "lines.json"
    result = CliRunner().invoke(app, ["reproduce", "cafe", "--table", "own", "--scale", "0.05", "--out", str(out)])
    assert result.exit_code == 0
    lines = json.loads(out.read_text())
    # Of a hundred people in 110 batches of five, two are not determined.
    assert [each["ours"] for each in lines if each["metric"] == "emr"] == [0.98, 0.98, 0.98]


def test_the_hierarchy_s_numbers_stand_in_prose_and_are_found() -> None:
    value = {"mean": 0.3, "low": None, "high": None}
    cell = {"classes": 20, "loss": "sor", "hierarchy": "4x5", "accuracy": value, "mse": value, "targets": 10}
    effort = Effort(1.0, 0, lambda *_: None)
    lines = list(property._lines("4.21", cell, effort, stands_in=property.PROSE, variant="hierarchical 4x5"))
    assert [(each.table, each.metric, each.published) for each in lines] == [
        ("4.21", "accuracy", 33),
        ("4.21", "mse", 2.6),
    ]


def test_what_differs_is_said_once_below_the_table() -> None:
    less = Line(table="2", cell="a", metric="psnr", ours=1.0, note="fewer batches; another model")
    printed = Console(width=120, record=True, file=io.StringIO())
    printed.print(_shown([less, replace(less, cell="b", note="another model"), replace(less, cell="c", note="")]))
    text = printed.export_text()
    assert text.count("another model") == 1
    ends = [line.split()[-1] for line in text.splitlines() if line.strip().startswith(("a ", "b ", "c "))]
    assert ends == ["(2)", "(2)", "1"]
