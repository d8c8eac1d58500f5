"""The study of vertical training: a table that is dealt or files that are aligned, quality, cost, what parties read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch

import seepage
from seepage._core import InputError
from seepage.data import clinic
from seepage.data.request import Request
from seepage.federation.vertical import Guest, Message
from seepage.results import Run, read_summary
from seepage.results.training import TrainingSummary
from seepage.runs import make_plan
from seepage.studies.training.settings import TrainingSettings
from seepage.studies.training.tables import Parties, PartyTables, open_tables

SHORT: dict[str, Any] = {
    "study": "training", "data": "clinic", "guests": 2, "rows": 400, "pretraining": 1, "finetuning": 2,
    "batch_size": 64, "latent": 3,
}  # fmt: skip


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of one training with its report."""
    folder = tmp_path_factory.mktemp("training") / "run"
    seepage.audit(**SHORT, privacy=True, out=folder)
    return folder


def test_a_run_holds_quality_cost_bytes_and_the_model(trained: Path) -> None:
    summary = read_summary(Run.open(trained))
    assert isinstance(summary, TrainingSummary)
    (cell,) = summary.cells
    scopes = {value.scope for value in cell.values}
    assert {"quality/published/mean", "quality/honest/XGBoost", "cost/pretraining", "bytes/fine-tuning"} <= scopes
    assert {"privacy/cells read by the host", "privacy/labels from gradients"} <= scopes
    assert all(0 <= value.mean <= 1 for value in cell.values if value.metric in ("accuracy", "f1", "roc_auc"))
    assert cell.judged["gain"] is not None
    assert (trained / "model" / "host" / "weights.safetensors").exists()
    assert not (trained / "work").exists()


def test_a_single_training_takes_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Children are limited where there are several; on a busy machine a single run with all threads mostly waits."""
    seen: list[int] = []
    respond = Guest.respond

    def watched(self: Guest, message: Message) -> Message:
        seen.append(torch.get_num_threads())
        return respond(self, message)

    monkeypatch.setattr(Guest, "respond", watched)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        seepage.audit(**SHORT, evaluate=False)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    assert set(seen) == {1}


def test_who_reads_of_whom_is_told_only_where_it_was_measured(trained: Path) -> None:
    measured = read_summary(Run.open(trained)).threat_model
    assert "guests' columns" in " ".join(measured.adversary)
    host, guest = measured.sees  # read off the messages that crossed
    assert "intermediate results" in host
    assert "gradients" in guest
    assert "intermediate" not in guest
    nobody = seepage.audit(**SHORT | {"evaluate": False})
    assert "was not measured" in " ".join(nobody.threat_model.adversary)
    assert nobody.cells[0].judged["gain"] is None


def test_where_nothing_crosses_nobody_reads() -> None:
    alone = seepage.audit(**SHORT | {"design": "local", "evaluate": False, "privacy": True, "finetuning": 0})
    assert not any("intermediate" in sentence for sentence in alone.threat_model.sees)


def test_means_over_runs_have_intervals() -> None:
    summary = seepage.audit(**SHORT | {"runs": 2, "rows": 200, "pretraining": 0})
    assert isinstance(summary, TrainingSummary)
    (cell,) = summary.cells
    assert cell.trials == 2
    value = cell.value("quality/honest/mean", "f1")
    assert value is not None
    assert value.runs == 2
    assert value.low is not None
    assert value.high is not None
    assert value.low <= value.mean <= value.high


def test_trained_together_runs_are_what_they_are_alone(tmp_path: Path) -> None:
    several = SHORT | {"rows": 200, "runs": 2, "failure_probabilities": [0.0, 0.5], "rate": 1e-3}
    alone, together = (
        seepage.audit(**several, together=at_once, out=tmp_path / str(at_once)) for at_once in (False, True)
    )
    assert isinstance(alone, TrainingSummary)
    assert isinstance(together, TrainingSummary)
    assert len(alone.cells) == 3
    assert [(cell.place, cell.trials) for cell in alone.cells] == [(cell.place, cell.trials) for cell in together.cells]
    assert len(list((tmp_path / "True" / "tasks").iterdir())) < len(list((tmp_path / "False" / "tasks").iterdir()))
    for one, other in zip(alone.cells, together.cells, strict=True):
        losses = {value.scope: value.mean for value in one.values if value.metric == "validation"}
        assert losses
        for scope, loss in losses.items():
            found = other.value(scope, "validation")
            assert found is not None
            assert found.mean == pytest.approx(loss, rel=0.02)  # float32, and epochs enlarge its rounding
        assert one.mean("bytes/fine-tuning", "gradients")
        assert other.mean("bytes/fine-tuning", "gradients") is None  # no message was made
        assert other.mean("quality/honest/mean", "f1") is not None


def test_one_training_is_trained_with_nothing() -> None:
    with pytest.raises(InputError, match="one training of each design"):
        seepage.audit(**SHORT, together=True)


def files(folder: Path) -> dict[str, str]:
    frame = clinic(200).with_row_index("person")
    frame.select("person", *frame.columns[1:8], "died").write_csv(folder / "bank.csv")
    frame.select("person", *frame.columns[8:-1]).sample(fraction=1, shuffle=True, seed=0).write_csv(folder / "shop.csv")
    return {"bank": str(folder / "bank.csv"), "shop": str(folder / "shop.csv")}


def dealt(request: Request, settings: TrainingSettings) -> Parties:
    return open_tables(request, settings).drawn(settings, 0)


def test_two_files_are_aligned(tmp_path: Path) -> None:
    settings = TrainingSettings(tables=files(tmp_path), keys=("person",), latent=3)
    parties = dealt(Request(target="died"), settings)
    frame = clinic(200)
    together = pl.concat(list(parties.frames.values()), how="horizontal")
    assert together.columns == frame.columns[:-1]
    assert np.array_equal(parties.labels, frame["died"].to_numpy())
    assert together.equals(pl.read_csv(tmp_path / "bank.csv").drop("person", "died").hstack(
        pl.read_csv(tmp_path / "shop.csv").sort("person").drop("person"))
    )  # fmt: skip
    assert not set(parties.train) & set(parties.validation)


@pytest.mark.parametrize("alignment", ["psi", "hashes"])
def test_keys_of_several_columns_in_other_writing_are_aligned_as_configured(tmp_path: Path, alignment: str) -> None:
    names = [("Ann", "Lee"), ("Bob", "Lee"), ("Eve", "May")]
    bank = pl.DataFrame({"first": [a for a, _ in names], "last": [b for _, b in names], "money": [1, 2, 3]})
    bank.with_columns(died=pl.Series([0, 1, 0])).write_csv(tmp_path / "bank.csv")
    rows = {"first": ["EVE", " bob", "ann", "ann"], "last": ["m ay", "LEE", "lee", "Lee"], "cough": [30, 20, 10, 11]}
    pl.DataFrame(rows).write_csv(tmp_path / "shop.csv")
    tables = {name: str(tmp_path / f"{name}.csv") for name in ("bank", "shop")}
    said: dict[str, Any] = {"tables": tables, "keys": ("first", "last"), "alignment": alignment, "key_case": "fold"}
    with pytest.raises(InputError, match="'shop' has 2 rows whose key occurs more than once: rows 2, 3 "):
        open_tables(Request(target="died"), TrainingSettings(**said, key_spaces="none"))
    found = open_tables(Request(target="died"), TrainingSettings(**said, key_spaces="none", key_duplicates="first"))
    assert found.frames["bank"].columns == ["money"]
    assert found.frames["bank"]["money"].to_list() == [1, 2, 3]
    assert found.frames["shop"]["cough"].to_list() == [10, 20, 30]
    told = " ".join(found.describe().notes)
    assert "shop keeps 75.0% of its rows and leaves out 1." in told
    assert ("by private set intersection" in told) == (alignment == "psi")
    assert ("by salted hashes" in told) == (alignment == "hashes")


def test_how_rows_are_aligned_changes_the_id_of_a_task_only_where_it_can_change_a_number(tmp_path: Path) -> None:
    def task(**more: Any) -> str:
        return make_plan(OWN | {"tables": tables, "target": "died"} | more).tasks[0].id

    tables = files(tmp_path)
    assert task(alignment="hashes") == task()
    assert len({task(), task(key_case="fold"), task(key_duplicates="first"), task(key=["person", "age"])}) == 4
    with pytest.raises(InputError, match="'alignment' belongs to the parties' own tables"):
        make_plan({"study": "training", "data": "clinic", "alignment": "hashes"})


OWN: dict[str, Any] = {"study": "training", "key": "person"}


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ({"target": "dead"}, "The target 'dead' is at no party"),
        ({"target": "died", "design": "tabvlf"}, "Did you mean 'tabvfl'"),
        ({"target": "died", "latent": 1}, "latent dimension is 1, but there are 2 guests"),
        ({"target": "died", "batch_size": 1}, "BatchNorm needs at least 2 rows"),
        ({"target": "died", "failures": [1]}, "must be below 1"),
        ({"target": "died", "failures": [0.2], "failure_methods": ["luck"]}, "Unknown failure methods 'luck'"),
        ({"target": "died", "failure_methods": ["zeros"]}, "need guests that fail"),
        ({"target": "died", "data": "clinic"}, "either one table to deal"),
        ({"target": "died", "guests": 3}, "leave --guests out"),
        ({"target": "died", "drop": ["a"]}, "is about one table"),
        ({"target": "died", "attacks": ["exact"]}, "belongs to the studies rows and vertical"),
        ({}, "need --key"),
        ({"target": "died", "alignment": "hash"}, "Unknown alignment 'hash'.*Did you mean 'hashes'"),
        ({"target": "died", "key_case": "lower"}, "Unknown key case 'lower'"),
        ({"target": "person"}, "'person' is both the target and a key"),
    ],
)
def test_bad_input_is_one_sentence(tmp_path: Path, more: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        seepage.audit(**OWN, tables=files(tmp_path), out=tmp_path / "out", **more)
    assert not (tmp_path / "out" / "model").exists()


def test_labels_at_two_parties_and_keys_that_repeat_stop(tmp_path: Path) -> None:
    def stopped() -> str:
        with pytest.raises(InputError) as caught:
            seepage.audit(**OWN, tables=files_there, target="died")
        return str(caught.value)

    files_there = files(tmp_path)
    shop = pl.read_csv(tmp_path / "shop.csv")
    shop.with_columns(died=0).write_csv(tmp_path / "shop.csv")
    assert "'bank' and 'shop'" in stopped()
    pl.concat([shop, shop.head(3)]).write_csv(tmp_path / "shop.csv")
    assert "'shop'" in stopped()
    shop.select("person", constant=1).write_csv(tmp_path / "shop.csv")
    assert "'shop' has no columns" in stopped()


def test_neighbours_in_a_file_do_not_share_a_batch() -> None:
    parties = dealt(Request(data="clinic"), TrainingSettings(guests=2, rows=400))
    rows = np.concatenate([parties.train, parties.validation])
    assert len(np.unique(rows)) == len(rows)
    assert np.abs(np.diff(parties.train)).mean() > 50


def test_a_table_that_cannot_be_fetched_comes_from_the_users_own_file(tmp_path: Path) -> None:
    names = [f"M{place}" for place in range(106)]
    rows = [[f"{row * 0.5 + place}" for place in range(106)] + ["ABCDE"[row % 5]] for row in range(60)]
    head = "@relation rice\n" + "".join(f"@attribute {name} REAL\n" for name in names)
    path = tmp_path / "rice.arff"
    path.write_text(head + "@attribute CLASS {A,B,C,D,E}\n@DATA\n" + "".join(",".join(row) + "\n" for row in rows))
    parties = dealt(Request(data="rice_msc", path=path), TrainingSettings())
    assert sorted(frame.width for frame in parties.frames.values()) == [21, 21, 21, 21, 22]  # of 106 measures
    assert len(parties.labels) == 60


def test_equal_rows_in_another_order_are_the_same_table(tmp_path: Path) -> None:
    settings = TrainingSettings(tables=files(tmp_path), keys=("person",))
    before: PartyTables = open_tables(Request(target="died"), settings)
    pl.read_csv(tmp_path / "shop.csv").reverse().write_csv(tmp_path / "shop.csv")
    assert open_tables(Request(target="died"), settings).digest == before.digest
    assert len(make_plan(OWN | {"tables": files(tmp_path), "target": "died"}).tasks) == 1


def test_rows_that_were_shuffled_are_another_table() -> None:
    source = open_tables(Request(data="clinic"), TrainingSettings(guests=2))
    other = PartyTables(source.name, source.frames, source.labels[::-1], source.target)
    assert other.digest != source.digest
