"""`seepage attacks explain` as a user types it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from seepage._core import InputError
from seepage.cli.main import app
from tests import cases


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("table") / "people.csv"
    cases.frame().write_csv(path)
    return path


def explained(table: Path, *words: str) -> str:
    words = ("attacks", "explain", "--data", str(table), "--target", "target", *words)
    return CliRunner().invoke(app, words, catch_exceptions=False).output


def entries(table: Path, *words: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(explained(table, *words, "--json"))
    return found


def test_says_what_works_and_what_would_stop_it(table: Path) -> None:
    text = " ".join(explained(table, "--model", "mlp:norm=none:width=8", "--batch-size", "2,9").split())
    assert "mlp norm none, width 8, fedsgd, batch size 2: 2 rows and 1 step behind what the server sees." in text
    assert "2 rows span 2 of 6 dimensions: a row meets 4 equations." in text
    assert "What would stop it here: for one update layers narrower than the number of rows (rounds" in text
    assert "secure aggregation over 4 clients" in text
    assert "Exact reading ends at 6 rows behind one update, if not before; here are 9." in text


def test_every_combination_as_json(table: Path) -> None:
    found = entries(table, "--model", "mlp,linear", "--defense", "none,gaussian_noise:0.1", "--batch-size", "1,8")
    assert [(e["model"], e["defense"], e["batch_size"]) for e in found] == [
        (model, defense, size)
        for model in ("mlp", "linear")
        for defense in ("none", "gaussian_noise:deviation=0.1")
        for size in (1, 8)
    ]
    assert set(found[0]) == {
        "dataset", "variant", "protocol", "model", "defense", "batch_size", "rows", "steps", "stops", "findings",
    }  # fmt: skip
    assert set(found[0]["findings"][0]) == {"what", "verdict", "why"}


def test_rows_and_steps_of_fedavg_and_of_aggregation(table: Path) -> None:
    words = ("--protocol", "fedavg", "--batch-size", "4", "--local-rows", "10", "--local-epochs", "3")
    (entry,) = entries(table, *words, "--clients-aggregated", "5", "--optimiser", "sgd:momentum=0.9")
    assert (entry["rows"], entry["steps"]) == (40, 6)  # a batch that is not full is not used


def test_the_optimiser_of_the_settings_decides(table: Path) -> None:
    """FINDINGS: explain had an optimiser of its own, and the report counted plain SGD whatever clients ran."""
    words = ("--protocol", "fedavg", "--batch-size", "4", "--local-rows", "4", "--model", "mlp:norm=none:width=8")
    (plain,), (momentum,), (adam,) = (
        entries(table, *words, "--optimiser", spec) for spec in ("sgd", "sgd:momentum=0.9:weight_decay=0.01", "adam")
    )
    verdicts = [[finding["verdict"] for finding in entry["findings"]] for entry in (plain, momentum, adam)]
    assert verdicts[0] == verdicts[1]  # momentum and known decay cost nothing
    assert "known weight decay is taken out" in momentum["findings"][1]["why"]
    assert verdicts[2] == ["works"] + ["cannot"] * 6 + ["partly"]
    assert "The attack `presence` reads them" in adam["findings"][0]["why"]
    assert "no sum of multiples" in adam["findings"][1]["why"]
    assert "Which categories occur stays readable at any number of rows" in adam["stops"]


def test_clipping_and_batch_norm_as_the_settings_say(table: Path) -> None:
    words = ("--protocol", "fedavg", "--batch-size", "4", "--local-rows", "8", "--model", "mlp:norm=batch:width=8")
    (clipped,) = entries(table, *words, "--clip-norm", "1")
    (several,) = entries(table, *words, "--batch-norm", "training")
    (one,) = entries(table, "--batch-size", "4", "--model", "mlp:norm=batch:width=8", "--batch-norm", "training")
    assert "clipped to a length of 1" in clipped["findings"][1]["why"]
    assert "running statistics are those of several steps" in several["findings"][1]["why"]
    assert "differences of rows" in one["findings"][1]["why"]
    assert [entry["findings"][0]["verdict"] for entry in (clipped, several, one)] == ["works"] * 3


def test_a_scenario_is_counted_as_it_is_audited(table: Path) -> None:
    (entry,) = entries(table, "--scenario", "cross_device", "--clients", "4")
    assert (entry["protocol"], entry["rows"], entry["steps"]) == ("fedavg", 20, 10)


def test_statistics_that_the_server_knows_or_not(table: Path) -> None:
    (hidden,) = entries(table, "--standardise-onehot")
    (known,) = entries(table, "--standardise-onehot", "--global-statistics")
    assert hidden["findings"][0]["verdict"] == "cannot"
    assert known["findings"][0]["verdict"] == "works"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--model", "resnt"), "Did you mean 'resnet'"),
        (("--defense", "noise"), "Unknown defence"),
        (("--protocol", "fedsdg"), "Did you mean 'fedsgd'"),
        (("--protocol", "fedavg", "--optimiser", "adm"), "Did you mean 'adam'"),
        (("--optimiser", "adam"), "belongs to the protocol fedavg"),
        (("--local-rows", "8"), "belongs to the protocol fedavg"),
        (("--protocol", "fedavg", "--batch-size", "64"), "larger than the 32 local rows"),
        (("--batch-size", "0"), "'batch_sizes' is .*: must be at least 1"),
        (("--batch-size", "many"), "must be a whole number"),
        (("--clients-aggregated", "0"), "The number of clients is 0"),
    ],
)
def test_mistakes_are_one_sentence(table: Path, words: tuple[str, ...], said: str) -> None:
    with pytest.raises(InputError, match=said):
        explained(table, *words)
