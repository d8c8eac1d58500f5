from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seepage._core import InputError, Streams
from seepage.results import (
    ALL_COLUMNS,
    ATTACK,
    BASELINES,
    BUCKETS,
    PRIOR,
    Interval,
    Kind,
    Measure,
    Record,
    RowsCell,
    Run,
    TrainingCell,
    Trials,
    bootstrap,
    parse_summary,
    places,
    read_summary,
)
from seepage.results.facts import ColumnFacts, Dataset, ThreatModel
from seepage.results.interval import bootstrap_columns
from seepage.results.rows import RowsResult, RowsSummary, rows_results
from seepage.results.training import TrainingResult, training_result

CELL = RowsCell(
    dataset="adult", protocol="fedsgd", model="mlp", batch_size=8, attack_point="final", attack="gradient_matching"
)
COLUMNS = (ColumnFacts(name="age", kind="numeric"),)


def mean(interval: Interval | None) -> float:
    assert interval is not None
    return interval.mean


def summed(records: list[Record]) -> RowsResult:
    (cell,) = rows_results([Trials.of(records)], COLUMNS)
    return cell


def record(accuracy: float | None, *, client: int = 0, outcome: str = "ok", cell: RowsCell = CELL) -> Record:
    values = {}
    if accuracy is not None:
        for source in (ATTACK, *BASELINES):
            values[Measure(source, ALL_COLUMNS, "accuracy")] = accuracy if source == ATTACK else 0.25
            values[Measure(source, "age", "accuracy")] = accuracy
            values[Measure(source, ALL_COLUMNS, "emr")] = 0.5 if source == ATTACK else 0.25
            values[Measure(source, ALL_COLUMNS, "exact")] = 0.25 if source == ATTACK else 0.0
        values[Measure(ATTACK, ALL_COLUMNS, "accuracy_cat")] = float("nan")
    return Record(
        cell=cell, repeat=0, client=client, round=1, exposure=0.0, rows=8, outcome=outcome, seconds=1.0, values=values
    )


@given(st.lists(st.floats(0, 1), min_size=2, max_size=20))
def test_an_interval_holds_its_mean_and_repeats(values: list[float]) -> None:
    interval = bootstrap(values)
    assert interval is not None
    assert interval == bootstrap(values)
    assert interval.low is not None
    assert interval.high is not None
    assert min(values) - 1e-9 <= interval.low <= interval.high <= max(values) + 1e-9
    assert interval.low - 1e-9 <= interval.mean <= interval.high + 1e-9 or len(set(values)) == 2


def test_one_value_has_no_spread_and_none_has_no_mean() -> None:
    one = bootstrap([0.5])
    assert one is not None
    assert (one.mean, one.low, one.high) == (0.5, None, None)
    assert bootstrap([]) is None
    assert bootstrap([float("nan")]) is None


@pytest.mark.parametrize(("count", "least"), [(5, 0.88), (10, 0.92), (40, 0.93)])
def test_the_interval_covers_the_truth_about_as_often_as_it_says(count: int, least: float) -> None:
    draws = Streams(0).numpy("coverage", count).beta(4, 2, size=(400, count))
    intervals = [bootstrap(row.tolist()) for row in draws]
    covered = [i for i in intervals if i and i.low is not None and i.high is not None and i.low <= 4 / 6 <= i.high]
    assert least <= len(covered) / 400 <= 0.99


def test_failed_trials_are_counted_and_never_averaged() -> None:
    records = [record(0.9), record(0.7, client=1), record(None, client=2, outcome="diverged")]
    cell = summed(records)
    assert cell.trials == 3
    assert cell.failed == 1
    assert cell.outcome == "ok"
    assert cell.outcomes == {"diverged": 1, "ok": 2}
    assert mean(cell.metrics["accuracy"]) == pytest.approx(0.8)
    assert mean(cell.gain["prior"]) == pytest.approx(0.55)
    assert cell.rows == 16
    assert (cell.rows_exact, cell.rows_near) == (4, 8)
    assert (cell.rows_guessed, cell.rows_guessed_near) == (0, 4)
    assert mean(cell.emr_gain["prior"]) == pytest.approx(0.25)
    assert cell.metrics["accuracy_cat"] is None
    assert mean(cell.columns[0].attack) == pytest.approx(0.8)


def test_a_cell_of_failures_says_so_and_has_no_number() -> None:
    cell = summed([record(None, outcome="diverged"), record(None, outcome="diverged")])
    assert cell.outcome == "diverged"
    assert cell.failed == 2
    assert cell.metrics == {}
    assert cell.baselines == {"prior": None, "uniform": None, "marginal": None}
    assert cell.rows == 0


def test_cell_ids_are_stable() -> None:
    assert len(CELL.id) == 12
    assert CELL.id == RowsCell(**vars(CELL)).id
    assert CELL.id != dataclasses.replace(CELL, batch_size=16).id


def test_records_survive_the_store(tmp_path: Path) -> None:
    run = Run.create(tmp_path / "run", {"a": 1})
    records = [record(0.9), record(None, client=1, outcome="failed"), record(0.7, client=2)]
    name, _ = run.add(records)
    (back,) = Run.open(tmp_path / "run").trials([name])
    assert back.heads["outcome"].to_list() == ["ok", "failed", "ok"]
    assert back.cell == CELL
    assert set(back.measures) == set(records[0].values)
    assert back.column(Measure(ATTACK, ALL_COLUMNS, "accuracy")).tolist() == [0.9, 0.7]
    assert back.scored.tolist() == [True, False, True]
    frame = pl.read_parquet(tmp_path / "run" / "records" / "*.parquet")
    assert {"study", "dataset", "batch_size", "source", "scope", "metric", "value"} <= set(frame.columns)
    assert not list((tmp_path / "run").rglob("*.tmp"))


VALUES = st.dictionaries(st.sampled_from("abcd"), st.one_of(st.floats(-1, 1), st.just(float("nan"))), max_size=4)


@given(st.lists(VALUES, min_size=1, max_size=5))
def test_trials_are_the_same_after_the_store_whatever_was_measured(every: list[dict[str, float]]) -> None:
    records = [
        Record(cell=CELL, client=number, outcome="ok" if values else "diverged",
               values={Measure(ATTACK, ALL_COLUMNS, name): value for name, value in values.items()})
        for number, values in enumerate(every)
    ]  # fmt: skip
    before = Trials.of(records)
    after = Trials.from_frame(before.to_frame())
    assert after.scored.tolist() == [bool(values) for values in every]
    for measure in before.measures:
        np.testing.assert_array_equal(after.column(measure), before.column(measure))
    assert rows_results([after], COLUMNS) == rows_results([before], COLUMNS)


def test_a_folder_in_use_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match="holds other files"):
        Run.create(tmp_path, {})
    Run.create(tmp_path / "run", {})
    with pytest.raises(InputError, match="holds another run"):
        Run.create(tmp_path / "run", {})
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="holds other files"):
        Run.create(tmp_path / "file", {})
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_an_unfinished_run_and_a_foreign_folder_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not a run folder"):
        Run.open(tmp_path)
    run = Run.create(tmp_path / "run", {})
    with pytest.raises(InputError, match="not finished"):
        read_summary(run)


def a_summary(*cells: RowsResult) -> RowsSummary:
    return RowsSummary(
        name="run",
        seed=0,
        versions={},
        settings={},
        command="",
        dataset=Dataset(name="<adult>", rows=9, target="income", task="binary"),
        threat_model=ThreatModel(),
        cells=cells,
    )


def test_a_summary_of_another_version_or_damaged_is_one_sentence() -> None:
    with pytest.raises(InputError, match="schema version 99"):
        parse_summary(json.dumps({"schema_version": 99}))
    with pytest.raises(InputError, match="schema version 1; this Seepage reads version 3"):
        parse_summary(json.dumps({"schema_version": 1, "cells": []}))
    with pytest.raises(InputError, match="schema version None"):
        parse_summary("[]")
    with pytest.raises(InputError, match="study 'rowz'"):
        parse_summary(json.dumps({"schema_version": 3, "study": "rowz"}))
    document = json.loads(a_summary().to_json())
    with pytest.raises(InputError, match=r"dataset\.rows: .*Run it again"):
        parse_summary(json.dumps(document | {"dataset": document["dataset"] | {"rows": "many"}}))
    for text in ("{", "\x00", b"\xff\xfe"):
        with pytest.raises(InputError, match="not valid JSON"):
            parse_summary(text)


def test_a_summary_shows_itself_and_is_read_back() -> None:
    summary = a_summary(summed([record(0.9), record(0.8)]))
    assert "0.85" in str(summary)
    page = summary._repr_html_()
    assert "&lt;adult&gt;" in page
    assert "gradient_matching" in page
    assert parse_summary(summary.to_json()) == summary


def doubting(client: int, cells: int, accuracy: float, **more: float) -> Record:
    made = record(0.9, client=client)
    bucket = BUCKETS["categorical"][0]
    values = {Measure(ATTACK, bucket.scope, bucket.cells): float(cells)}
    values |= {Measure(source, bucket.scope, bucket.accuracy): accuracy for source in (ATTACK, PRIOR)}
    values |= {Measure(ATTACK, ALL_COLUMNS, name): value for name, value in more.items()}
    return dataclasses.replace(made, values=dict(made.values) | values)


def test_buckets_are_pooled_over_all_their_cells() -> None:
    records = [record(0.9), doubting(1, 30, 0.5, doubt_cat=0.1), doubting(2, 10, 1.0, doubt_cat=0.3)]
    cell = summed(records)
    (bucket,) = cell.doubt
    assert bucket.attack is not None
    assert (bucket.kind, bucket.low, bucket.high, bucket.cells) == ("categorical", 0.0, 0.2, 40)
    assert bucket.attack.mean == pytest.approx(25 / 40)
    assert bucket.prior == bucket.attack
    assert bucket.attack.low is not None
    assert bucket.attack.high is not None
    assert 0.5 <= bucket.attack.low <= bucket.attack.high <= 1.0
    assert mean(cell.metrics["doubt_cat"]) == pytest.approx(0.2)  # the first batch had none
    assert json.loads(cell.model_dump_json())["doubt"][0]["cells"] == 40


def test_the_share_of_a_bucket_is_of_all_cells_of_its_kind() -> None:
    surer, other = BUCKETS["categorical"][:2]
    records = [doubting(1, 30, 0.5), doubting(2, 10, 1.0), doubting(3, 20, 0.75)]
    more = {Measure(ATTACK, other.scope, other.cells): 20.0, Measure(ATTACK, other.scope, other.accuracy): 0.25}
    records[1] = dataclasses.replace(records[1], values=dict(records[1].values) | more)
    first, second = summed(records).doubt
    assert (first.low, second.low) == (surer.low, other.low)
    assert first.share is not None
    assert second.share is not None
    assert (first.share.mean, second.share.mean) == (pytest.approx(60 / 80), pytest.approx(20 / 80))
    assert first.share.low is not None
    assert first.share.low < 60 / 80


def test_without_doubt_there_are_no_buckets() -> None:
    cell = summed([record(0.9)])
    assert cell.doubt == ()


@given(st.lists(st.floats(0, 1), min_size=2, max_size=9), st.integers(1, 50))
def test_equal_weights_are_no_weights(values: list[float], weight: int) -> None:
    plain, weighted = bootstrap(values), bootstrap(values, [weight] * len(values))
    assert plain is not None
    assert weighted is not None
    assert dataclasses.astuple(weighted) == pytest.approx(dataclasses.astuple(plain))


def test_batches_without_weight_are_left_out() -> None:
    assert bootstrap([0.25, float("nan"), 0.9], [3, 1, 0]) == Interval(0.25, None, None)


@given(st.sampled_from(sorted(BUCKETS)), st.floats(0, 1))
def test_every_doubt_has_one_bucket(kind: Kind, doubt: float) -> None:
    bucket = BUCKETS[kind][int(places(kind, np.array([doubt]))[0])]
    assert bucket.low <= doubt <= bucket.high


@given(st.lists(st.lists(st.one_of(st.floats(0, 1), st.just(float("nan"))), min_size=4, max_size=4), max_size=6))
def test_intervals_of_many_columns_are_those_of_each(rows: list[list[float]]) -> None:
    table = np.array(rows, dtype=np.float64).reshape(len(rows), 4)
    for found, column in zip(bootstrap_columns(table), table.T, strict=True):
        alone = bootstrap(column.tolist())
        if alone is None or found is None:
            assert alone is found
            continue
        assert found.mean == pytest.approx(alone.mean)
        assert (found.low is None) == (alone.low is None)
        if alone.low is not None:
            assert (found.low, found.high) == pytest.approx((alone.low, alone.high), abs=1e-6)


def test_intervals_of_many_cells_at_once_are_those_of_each() -> None:
    """Large products are made of many cells; what a cell gets does not depend on the others."""
    draw = Streams(3).numpy("cells")
    both = [[record(float(value), client=n) for n, value in enumerate(draw.random(count))] for count in (5, 5, 9)]
    alone = [summed(records) for records in both]
    pairs = ((Measure(ATTACK, ALL_COLUMNS, "accuracy"), Measure("prior", ALL_COLUMNS, "accuracy")),)
    every = [Trials.of(records) for records in both]
    Trials.resample(every, lambda measure: measure.source == ATTACK, pairs)
    for trials, cell in zip(every, alone, strict=True):
        found = trials.interval(Measure(ATTACK, ALL_COLUMNS, "accuracy"))
        expected = cell.metrics["accuracy"]
        assert found is not None
        assert expected is not None
        assert (found.mean, found.low, found.high) == pytest.approx(
            (expected.mean, expected.low, expected.high), abs=1e-6
        )
        assert trials.differences(pairs)[0] is not None


def test_a_loss_that_became_infinite_is_left_out_and_the_summary_can_be_read() -> None:
    cell = TrainingCell(dataset="clinic", design="tabvfl", guests=2)
    values = {Measure("model", "epoch/fine-tuning/0", "validation"): float("inf")}
    values[Measure("model", "quality/honest/mean", "f1")] = 0.5
    result = training_result(Trials.of([Record(cell=cell, outcome="ok", values=values)]))
    assert [value.metric for value in result.values] == ["f1"]
    assert TrainingResult.model_validate_json(result.model_dump_json()) == result


@pytest.mark.parametrize("damage", [b"", b"[1", b'[{"x": 2}]\n'])
def test_revealed_rows_that_are_not_what_was_written_are_not_shown(tmp_path: Path, damage: bytes) -> None:
    run = Run.create(tmp_path / "run", {})
    run.reveal("cell", [{"x": 1}])
    assert run.revealed("cell") == [{"x": 1}]
    (tmp_path / "run" / "revealed" / "cell.json").write_bytes(damage)
    assert run.revealed("cell") == []


def test_intervals_of_shares_end_where_shares_do() -> None:
    """Resampling trainings and then batches of them steps over the ends: 0.967 (0.900 to 1.033) was printed."""
    rates = [[0.0] + [1.0] * 9, [1.0] * 10, [1.0] * 10]
    records = [
        dataclasses.replace(record(rate, client=client), repeat=repeat)
        for repeat, federation in enumerate(rates)
        for client, rate in enumerate(federation)
    ]
    found = summed(records).metrics["accuracy"]
    (plain,) = bootstrap_columns(np.array(rates).reshape(-1, 1), np.repeat([0, 1, 2], 10))
    assert found is not None
    assert plain is not None
    assert plain.high is not None
    assert plain.high > 1.0 == found.high
