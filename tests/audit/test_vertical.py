"""Vertical runs from the command line: a store that goes on, a report, and one sentence for bad input."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from seepage._core import InputError
from seepage.cli.main import app
from seepage.data import clinic
from seepage.report import write_report
from seepage.results import Run
from seepage.results.vertical import Value, VerticalCell, VerticalRun, read_vertical
from seepage.studies.training.running import VerticalPlan, deal, run_vertical

SHORT = {
    "privacy": True,
    "data": "clinic",
    "guests": 2,
    "rows": 400,
    "pretraining": 1,
    "finetuning": 2,
    "batch_size": 64,
    "latent": 3,
}


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of one cell with its report."""
    folder = tmp_path_factory.mktemp("vertical") / "run"
    plan = VerticalPlan(**SHORT, designs=("tabvfl",), runs=1)
    run = VerticalRun.open_or_create(folder, asdict(plan))
    run_vertical(plan, run, command="seepage vertical train --data clinic")
    write_report(run.run)
    return folder


def test_a_run_holds_quality_cost_and_bytes(trained: Path) -> None:
    frame = pl.read_parquet(trained / "records" / "*.parquet")
    scopes = set(frame["scope"])
    assert {"quality/published/mean", "quality/honest/XGBoost", "cost/pretraining", "bytes/fine-tuning"} <= scopes
    assert {"privacy/cells read by the host", "privacy/labels from gradients"} <= scopes
    shares = frame.filter(pl.col("metric").is_in(["accuracy", "f1", "roc_auc"]))["value"]
    assert shares.is_between(0, 1).all()
    assert (trained / "model" / "host" / "weights.safetensors").exists()
    assert not (trained / "work").exists()


def test_a_finished_run_is_not_run_again_and_other_settings_are_refused(trained: Path) -> None:
    plan = VerticalPlan(**SHORT, designs=("tabvfl",), runs=1)
    before = (trained / "summary.json").read_text()
    again = run_vertical(plan, VerticalRun.open_or_create(trained, asdict(plan)), command="seepage vertical train")
    assert again["groups"] == json.loads(before)["groups"]
    other = VerticalPlan(**SHORT, designs=("local",), runs=1)
    with pytest.raises(InputError, match="other settings"):
        VerticalRun.open_or_create(trained, asdict(other))


def test_a_run_does_not_go_on_with_other_rows(trained: Path) -> None:
    run = VerticalRun(Run(trained))
    known = (trained / "table.txt").read_text().strip()
    run.same_rows(known)
    with pytest.raises(InputError, match="a table has changed since"):
        run.same_rows("0" * len(known))


def test_the_report_shows_designs_and_no_private_value(trained: Path) -> None:
    page = (trained / "report.html").read_text()
    for words in ("TabVFL", "rows the encoder never saw", "Raw columns never leave a guest", "seepage vertical train"):
        assert words in page
    assert read_vertical(trained) is not None
    assert "http" not in page.split("<script>")[0].replace("http-equiv", "")


def test_means_over_repeats_have_intervals(tmp_path: Path) -> None:
    run = VerticalRun.open_or_create(tmp_path / "run", {})
    for repeat, f1 in enumerate((0.5, 0.7)):
        cell = VerticalCell(dataset="x", design="tabvfl", guests=2, repeat=repeat)
        run.add(cell, [Value("quality/honest/mean", "f1", f1)])
        assert run.has(cell)
    (group,) = run.summarise({})["groups"]
    (value,) = group["values"]
    assert value["mean"] == pytest.approx(0.6)
    assert value["runs"] == 2
    assert value["low"] < 0.6 < value["high"]


def files(folder: Path) -> list[str]:
    frame = clinic(200).with_row_index("person")
    frame.select("person", *frame.columns[1:8], "died").write_csv(folder / "bank.csv")
    frame.select("person", *frame.columns[8:-1]).sample(fraction=1, shuffle=True, seed=0).write_csv(folder / "shop.csv")
    return ["--table", f"bank={folder / 'bank.csv'}", "--table", f"shop={folder / 'shop.csv'}", "--key", "person"]


def test_two_files_are_aligned(tmp_path: Path) -> None:
    files(tmp_path)
    tables = (("bank", str(tmp_path / "bank.csv")), ("shop", str(tmp_path / "shop.csv")))
    plan = VerticalPlan(tables=tables, key="person", target="died", guests=2, latent=3)
    parties = deal(plan, 0)
    frame = clinic(200)
    together = pl.concat(list(parties.frames.values()), how="horizontal")
    assert together.columns == frame.columns[:-1]
    assert np.array_equal(parties.labels, frame["died"].to_numpy())
    assert together.equals(pl.read_csv(tmp_path / "bank.csv").drop("person", "died").hstack(
        pl.read_csv(tmp_path / "shop.csv").sort("person").drop("person"))
    )  # fmt: skip
    assert not set(parties.train) & set(parties.validation)


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (["--target", "dead"], "The target 'dead' is at no party"),
        (["--target", "died", "--design", "tabvlf"], "Did you mean 'tabvfl'"),
        (["--target", "died", "--latent", "1"], "latent dimension is 1, but there are 2 guests"),
        (["--target", "died", "--batch-size", "1"], "BatchNorm needs at least 2 rows"),
        (["--target", "died", "--failure", "1"], "failure probability is 1.0"),
        (["--target", "died", "--failure-method", "luck"], "Unknown failure method 'luck'"),
        (["--target", "died", "--table", "other"], "is not NAME=FILE"),
        (["--target", "died", "--data", "clinic"], "either one table to deal"),
        ([], "need --key"),
    ],
)
def test_bad_input_is_one_sentence(tmp_path: Path, more: list[str], sentence: str) -> None:
    arguments = ["vertical", "train", *files(tmp_path), *more, "--out", str(tmp_path / "out")]
    result = CliRunner().invoke(app, arguments)
    assert isinstance(result.exception, InputError)
    assert sentence in str(result.exception)
    assert not (tmp_path / "out" / "model").exists()


def test_labels_at_two_parties_and_keys_that_repeat_stop(tmp_path: Path) -> None:
    start = ["vertical", "train", *files(tmp_path), "--target", "died", "--out", str(tmp_path / "out")]
    shop = pl.read_csv(tmp_path / "shop.csv")
    shop.with_columns(died=0).write_csv(tmp_path / "shop.csv")
    assert "'bank' and 'shop'" in str(CliRunner().invoke(app, start).exception)
    pl.concat([shop, shop.head(3)]).write_csv(tmp_path / "shop.csv")
    assert "'shop'" in str(CliRunner().invoke(app, start).exception)
    shop.select("person", constant=1).write_csv(tmp_path / "shop.csv")
    result = CliRunner().invoke(app, start)
    assert isinstance(result.exception, InputError)
    assert "'shop' has no columns" in str(result.exception)


def test_neighbours_in_a_file_do_not_share_a_batch() -> None:
    parties = deal(VerticalPlan(data="clinic", guests=2, rows=400), 0)
    rows = np.concatenate([parties.train, parties.validation])
    assert len(np.unique(rows)) == len(rows)
    assert np.abs(np.diff(parties.train)).mean() > 50


def test_a_table_that_cannot_be_fetched_comes_from_the_users_own_file(tmp_path: Path) -> None:
    names = [f"M{place}" for place in range(106)]
    rows = [[f"{row * 0.5 + place}" for place in range(106)] + ["ABCDE"[row % 5]] for row in range(60)]
    head = "@relation rice\n" + "".join(f"@attribute {name} REAL\n" for name in names)
    path = tmp_path / "rice.arff"
    path.write_text(head + "@attribute CLASS {A,B,C,D,E}\n@DATA\n" + "".join(",".join(row) + "\n" for row in rows))
    parties = deal(VerticalPlan(data="rice_msc", path=str(path), designs=("tabvfl",), runs=1), 0)
    assert sorted(frame.width for frame in parties.frames.values()) == [21, 21, 21, 21, 22]  # of 106 measures
    assert len(parties.labels) == 60
