"""A cell of every paper, run by the one path at a tiny scale on the user's own small tables."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from seepage._core import InputError
from seepage.reproductions import Reproduction, Workload, read_table, reproduce
from seepage.results import Run, read_summary
from tests.reproductions import tables

TINY = Workload(scale=0.0002)


def run(paper: str, table: str, folder: Path, work: Workload, **only: list[str]) -> Reproduction:
    return reproduce(paper, table, replace(work, folder=folder / "runs", only=only))


def test_a_cell_of_tableak_and_its_baseline(tmp_path: Path) -> None:
    work = replace(TINY, paths={"adult_tableak": tables.adult(tmp_path)})
    made = run(
        "tableak", "1", tmp_path, work, attacks=["inverting_gradients:restorer=geng:keep=last"], batch_size=["8"]
    )
    cells = made.table.cells
    assert {(cell.published, cell.spread) for cell in cells} >= {(91.1, 7.3), (53.9, 4.4)}
    assert all(cell.ours is not None and 1 < cell.ours <= 100 and cell.trials == 3 for cell in cells)
    assert all(cell.low is not None and cell.low <= (cell.ours or 0) for cell in cells)
    assert all("3 of 50 batches" in cell.differs for cell in cells)


ONE = {"models": ["mlp"], "attacks": ["profiling"], "batch_sizes": ["8"], "attack_points": ["final"]}


def test_a_cell_of_the_profiling_study_goes_on_where_it_was(tmp_path: Path) -> None:
    made = run("profiling", "4", tmp_path, TINY, **ONE)
    (cell,) = made.table.cells
    assert cell.published == 0.623
    assert cell.place == {}
    assert made.table.common["data"] == "clinic (for MIMIC-IV)"
    assert any("in place of MIMIC-IV" in sentence for sentence in cell.differs)
    folder = made.folders[0]
    before = {file: file.stat().st_mtime_ns for file in (folder / "records").iterdir()}
    again = run("profiling", "4", tmp_path, TINY, **ONE)
    assert again.table == made.table
    assert {file: file.stat().st_mtime_ns for file in (folder / "records").iterdir()} == before
    assert read_table(folder / "reproduced-4.json") == made.table
    assert read_summary(Run.open(folder)).command == made.table.command


def test_a_cell_of_cafe_with_its_curve(tmp_path: Path) -> None:
    work = replace(TINY, scale=0.001, paths={"mnist_5k": tables.digits(tmp_path)})
    made = run("cafe", "8", tmp_path, work)
    last = {cell.metric: cell for cell in made.table.cells if cell.place["batches"] == "20 (published: 20,000)"}
    assert {name: cell.published for name, cell in last.items()} == {
        "psnr": 20.72, "train_loss": 1.68, "test_accuracy": 0.68,
    }  # fmt: skip
    assert [cell.place["batches"].split()[0] for cell in made.table.cells if cell.metric == "psnr"] == [
        "2", "6", "10", "15", "20",
    ]  # fmt: skip
    assert all(cell.ours is not None for cell in made.table.cells)


@pytest.mark.slow
def test_the_closed_form_reads_everybody_of_a_small_table(tmp_path: Path) -> None:
    work = replace(TINY, scale=0.05, paths={"adult": tables.adult(tmp_path)})
    made = run("cafe", "own", tmp_path, work, data=["adult"], attacks=["cafe_closed_form"])
    exact = next(cell for cell in made.table.cells if cell.metric == "emr")
    assert exact.ours is not None
    assert exact.ours > 0.9  # of a hundred people in 110 batches a few may not be determined
    assert "100 of 2,000 people" in exact.differs


def test_a_cell_of_the_property_inference_thesis(tmp_path: Path) -> None:
    work = replace(TINY, scale=0.0001, paths={"census_income": tables.census(tmp_path)})
    made = run("property", "4.2", tmp_path, work, classes=["2"], losses=["sor"])
    numbers = {cell.metric: cell for cell in made.table.cells}
    assert {name: cell.published for name, cell in numbers.items()} == {"accuracy": 88.0, "mse": 0.1172}
    assert numbers["accuracy"].ours is not None
    assert 0 <= numbers["accuracy"].ours <= 100
    assert any("models for each class" in sentence for sentence in numbers["mse"].differs)


def test_tables_of_one_plan_share_its_run(tmp_path: Path) -> None:
    work = replace(TINY, scale=0.0001, paths={"census_income": tables.census(tmp_path)})
    first = run("property", "4.2", tmp_path, work, classes=["2"], losses=["sor"])
    files = {file: file.stat().st_mtime_ns for file in (first.folders[0] / "records").iterdir()}
    second = run("property", "4.2-shadows", tmp_path, work, classes=["2"], losses=["sor"])
    assert second.folders == first.folders
    assert {file: file.stat().st_mtime_ns for file in (first.folders[0] / "records").iterdir()} == files
    assert read_table(first.folders[0] / "reproduced-4.2.json") == first.table
    assert read_table(first.folders[0] / "reproduced-4.2-shadows.json") == second.table


def test_a_table_that_shows_a_part_of_a_run_reads_the_run_of_another(tmp_path: Path) -> None:
    work = replace(TINY, paths={"adult_tableak": tables.adult(tmp_path, rows=2000)})
    only = {"labels_known": ["true"], "attacks": ["tableak_paper", "fast"]}
    whole = run("tableak", "6", tmp_path, replace(work, scale=0.0001), **only)
    records = {file: file.stat().st_mtime_ns for file in (whole.folders[0] / "records").iterdir()}
    for number in ("1", "3", "4"):
        made = run("tableak", number, tmp_path, replace(work, scale=0.0001), **only)
        assert made.folders == whole.folders
        assert {cell.place.get("batch", "128") for cell in made.table.cells} <= {"8", "16", "32", "64", "128"}
        assert any(cell.published is not None for cell in made.table.cells)
    assert {file: file.stat().st_mtime_ns for file in (whole.folders[0] / "records").iterdir()} == records
    assert {cell.place["batch"] for cell in whole.table.cells} == {"1", "2", "4", "8", "16", "32", "64", "128"}


@pytest.mark.slow
def test_a_cell_of_tabvfl_and_what_is_left_out(tmp_path: Path) -> None:
    work = replace(TINY, scale=0.0001, paths={"bank_marketing": tables.bank(tmp_path)})
    made = run("tabvfl", "6.1", tmp_path, work, data=["bank_marketing", "airline"], phases=["both"])
    assert [(cell.metric, cell.published) for cell in made.table.cells] == [
        ("accuracy", 89.14), ("f1", 0.881), ("roc_auc", 0.863),
    ]  # fmt: skip
    assert (made.table.cells[0].ours or 0) > 1 > (made.table.cells[1].ours or 0)
    assert made.table.differs[-1].endswith("no file was given (--path NAME=FILE): Air Passenger Satisfaction.")
    assert "bank.csv" not in made.table.model_dump_json()
    assert made.table.command.endswith("--path bank_marketing=FILE")


@pytest.mark.parametrize(
    ("paper", "table", "work", "sentence"),
    [
        ("cafo", "2", {}, "Did you mean 'cafe'"),
        ("profiling", "99", {}, "Unknown table of profiling '99'"),
        ("tabvfl", "IIII", {}, "Did you mean 'III'"),
        ("cafe", "2", {"scale": 2.0}, "share of the published work"),
        ("cafe", "2", {"jobs": 0}, "at least 1"),
        ("tabvfl", "III", {"paths": {"rice_mcs": Path("file")}}, "Did you mean 'rice_msc'"),
        ("tabvfl", "III", {"only": {"data": ["airline"]}}, "--path airline=FILE"),
        ("profiling", "18", {"only": {"modles": ["mlp"]}}, "Did you mean 'models'"),
        ("profiling", "18", {"only": {"models": ["mpl"]}}, "Did you mean 'mlp'"),
        ("tableak", "4", {"only": {"batch_size": ["8"]}}, "Unknown value of batch_size in this table: '8'"),
    ],
)
def test_bad_input_is_one_sentence(paper: str, table: str, work: dict[str, object], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        reproduce(paper, table, Workload(**work))  # type: ignore[arg-type]
