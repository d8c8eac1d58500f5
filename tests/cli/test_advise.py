"""`seepage advise` as a user types it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from seepage._core import InputError
from seepage.advice.clock import seconds_of
from seepage.cli.main import app
from seepage.runs import make_plan, read_plan

KEPT = ("--keep", "batch-size=2", "--keep", "local-epochs=0", "--clients", "3", "--exposure", "1")
PLAIN = (*KEPT, "--keep", "defense=none")  # all of it is read by algebra, so the search is short


def frame(rows: int = 240) -> pl.DataFrame:
    """A table whose target can be learned."""
    random = np.random.default_rng(0)
    x = random.normal(size=(rows, 3)).round(3)
    return pl.DataFrame(
        {
            "age": x[:, 0],
            "weight": x[:, 1],
            "dose": x[:, 2],
            "ward": random.choice(["a", "b", "c"], rows),
            "ill": np.where(x[:, 0] + x[:, 1] + 0.3 * random.normal(size=rows) > 0, "yes", "no"),
            "coin": random.choice(["heads", "tails"], rows),
            "cost": (x[:, 0] * 3 + random.normal(size=rows)).round(4),
        }
    )


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("table") / "people.csv"
    frame().write_csv(path)
    return path


def advised(table: Path, *words: str, target: str = "ill") -> str:
    asked = ("advise", "--data", str(table), "--target", target, *words)
    return CliRunner().invoke(app, asked, catch_exceptions=False, env={"COLUMNS": "200"}).output


def answer_in(text: str) -> str:
    """Without the lines that tell how far it is."""
    return text[text.index("Asked:") :]


def test_a_search_answers_is_stored_and_goes_on(table: Path, tmp_path: Path) -> None:
    out = tmp_path / "advice"
    words = (*PLAIN, "--drop", "coin,cost", "--max-loss", "0.2", "--out", str(out))
    text = advised(table, *words)
    assert "Asked: no row read exactly, at most 5.0% of the cells" in text
    assert "No tested setting meets these limits." in text
    assert "Every setting that was tested leaked more than allowed with no defence." in text
    assert "Held against these attackers is not a proof of privacy." in text
    assert "It sees one update of a client" in text
    make_plan(read_plan(out / "plan.toml"))
    state = json.loads((out / "search.json").read_text())
    assert state["chunks"]
    assert all((out / chunk["folder"] / "summary.json").exists() for chunk in state["chunks"])
    with pytest.raises(InputError, match="another question, with other limits"):
        advised(table, *words, "--max-gain", "0.2")
    assert answer_in(advised(table, *words)) == answer_in(text)  # everything is stored, and nothing is run anew
    assert json.loads((out / "search.json").read_text()) == state


@pytest.mark.parametrize(
    ("words", "target", "said"),
    [
        (("--min-auc", "0.8", "--max-loss", "0.1"), "ill", "give one of them"),
        (("--min-auc", "0.8"), "cost", "this one is regression"),
        (("--keep", "batchsize=8"), "ill", "batch-size"),
        (("--keep", "batch-size=x"), "ill", "not a whole number"),
        (("--budget", "soon"), "ill", "is not a time"),
        (("--budget", "0.02s"), "ill", r"too small to test anything: .* Give --budget \d+m or more"),
        (("--max-gain", "1.5"), "ill", "--max-gain is 1.5"),
        (("--keep", "batch-size=8", "--keep", "batch-size=16"), "ill", "--keep names 'batch-size' twice"),
        (("--keep", "batch-size=8", "--keep", "batch_size=16"), "ill", "--keep names 'batch-size' twice"),
        (("--keep", "defense=dp_sgd:noise=1:noise=2"), "ill", "sets 'noise' twice"),
        (("--jobs", "2", "--scheduler", "tls://127.0.0.1:1"), "ill", "--jobs would have no effect"),
        (("--plain-tcp",), "ill", "--plain-tcp is about a scheduler's address"),
        (PLAIN, "coin", "no better than a constant answer"),
    ],
)
def test_what_cannot_be_asked_is_told(
    table: Path, tmp_path: Path, words: tuple[str, ...], target: str, said: str
) -> None:
    others = {"ill", "coin", "cost"} - {target}
    with pytest.raises(InputError, match=said):
        advised(table, "--drop", ",".join(sorted(others)), "--out", str(tmp_path / "out"), *words, target=target)


def test_times_have_units() -> None:
    assert [seconds_of(text) for text in ("90s", "30m", "1.5h")] == [90, 1800, 5400]
    for text in ("30", "0m", "m", "-5m", "5 days"):
        with pytest.raises(InputError, match="is not a time"):
            seconds_of(text)


def test_a_table_must_be_named() -> None:
    with pytest.raises(InputError, match="Which table"):
        CliRunner().invoke(app, ["advise", "--target", "ill"], catch_exceptions=False)


@pytest.mark.slow
def test_a_longer_search_recommends_and_confirms(table: Path, tmp_path: Path) -> None:
    out = tmp_path / "advice"
    words = (*KEPT, "--drop", "coin,cost", "--max-loss", "0.2", "--max-gain", "0.1", "--out", str(out))
    text = advised(table, *words, "--budget", "5m", "--jobs", "2")
    assert "Recommended: " in text or "Best so far, not yet shown to be safe" in text
    assert "Tested: every attack with its full effort" in text
    assert list(out.glob("confirm-*/report.html"))


@pytest.mark.slow
def test_a_cluster_gives_the_answer_of_one_process(table: Path, tmp_path: Path) -> None:
    words = (*PLAIN, "--drop", "coin,cost", "--max-loss", "0.2")
    here = answer_in(advised(table, *words, "--out", str(tmp_path / "here")))
    there = answer_in(advised(table, *words, "--backend", "dask", "--jobs", "2", "--out", str(tmp_path / "there")))
    assert "width 8" in here
    assert there.replace(str(tmp_path / "there"), str(tmp_path / "here")) == here
    (run, *_) = sorted((tmp_path / "there").glob("*/run.json"))
    assert json.loads(run.read_text())["machine"]["threads"] == "as each task says"  # of processes, not of this one
