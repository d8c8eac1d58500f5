"""Gates, comparisons and exports: what is made of finished cells."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

from seepage._core import InputError
from seepage.cli.main import app
from seepage.results import Interval, Measure, Record, Run, TrainingCell, Trials
from seepage.results.compare import compare
from seepage.results.gate import Limits, breaches
from seepage.results.rows import RowsResult, RowsSummary
from seepage.results.store import STORE_VERSION
from seepage.results.summary import HEADLINE
from seepage.results.training import training_result
from tests.report.example import a_cell, a_property_summary, a_summary, a_training_summary, every_study, records_of


def a_run(folder: Path, **changes: Any) -> Path:
    """A finished run folder."""
    summary = a_summary(records_of(a_cell(**changes)))
    Run.create(folder, {"store_version": STORE_VERSION}).write("summary.json", summary.to_json())
    Run.open(folder).add(records_of(a_cell(**changes)))
    return folder


def summed(*cells: RowsResult) -> RowsSummary:
    return a_summary(records_of(a_cell(), 2)).model_copy(update={"cells": cells})


def cell_of(**changes: Any) -> RowsResult:
    (cell,) = a_summary(records_of(a_cell(), **changes)).cells
    return cell


def test_a_gate_judges_the_upper_end_of_the_interval() -> None:
    cell = cell_of()
    read = cell.judged["emr"]
    assert read is not None
    assert read.high is not None
    assert read.high > read.mean
    assert breaches(summed(cell), Limits(emr=read.high)) == []
    (breach,) = breaches(summed(cell), Limits(emr=read.mean))
    assert "of rows read nearly" in breach.what
    assert "clinic, fedsgd" in breach.cell
    assert "beyond guessing" in breaches(summed(cell), Limits(gain=0.0))[0].what


def test_what_could_not_be_measured_does_not_pass_a_gate() -> None:
    assert (
        "10 of 10 attacks failed or diverged" in breaches(summed(cell_of(outcome="diverged")), Limits(emr=1.0))[0].what
    )
    assert "nothing is known" in breaches(summed(cell_of(outcome="not_applicable")), Limits(emr=1.0))[0].what


def test_a_gate_never_forgives_an_attack_that_failed() -> None:
    """FINDINGS: a failure was called not applicable, which a gate forgives."""
    (breach,) = breaches(summed(cell_of(), cell_of(outcome="failed")), Limits(emr=1.0))
    assert "10 of 10 attacks failed or diverged" in breach.what
    cell = cell_of().model_copy(update={"outcomes": {"ok": 9, "failed": 1}, "failed": 1})
    (breach,) = breaches(summed(cell), Limits(emr=1.0))
    assert "1 of 10 attacks failed or diverged" in breach.what


def test_a_gate_does_not_forgive_attacks_that_diverged_beside_some_that_did_not() -> None:
    cell = cell_of().model_copy(update={"outcomes": {"ok": 2, "diverged": 8}, "failed": 8})
    (breach,) = breaches(summed(cell), Limits(emr=1.0))
    assert "8 of 10 attacks failed or diverged" in breach.what


def test_one_attack_that_does_not_apply_is_forgiven_beside_one_that_does() -> None:
    other = cell_of(outcome="not_applicable").model_copy(update={"attack": "exact"})
    assert breaches(summed(cell_of(), other), Limits(emr=1.0)) == []


def test_every_attack_point_must_be_measured_and_one_trial_is_not_enough() -> None:
    unknown = cell_of(outcome="not_applicable").model_copy(update={"attack_point": "late"})
    (breach,) = breaches(summed(cell_of(), unknown), Limits(emr=1.0))
    assert "late" in breach.cell
    assert "nothing is known" in breach.what
    once = cell_of().model_copy(update={"judged": {"emr": Interval(0.0, None, None)}})
    (breach,) = breaches(summed(once), Limits(emr=0.0))
    assert "one trial gives no interval to judge" in breach.what


@pytest.mark.parametrize("limits", [{}, {"emr": -0.1}, {"gain": 1.5}])
def test_limits_are_shares(limits: dict[str, float]) -> None:
    with pytest.raises(InputError):
        Limits(**limits)


def test_every_study_can_be_judged_by_what_it_reads() -> None:
    for summary in every_study().values():
        assert any(cell.judged.get("gain") is not None for cell in summary.cells)
        assert breaches(summary, Limits(gain=0.0))
    for summary in (a_property_summary(), a_training_summary()):
        with pytest.raises(InputError, match=f"The study {summary.study} has no rows read nearly"):
            breaches(summary, Limits(emr=0.0))


def test_two_runs_are_compared_cell_by_cell() -> None:
    one = cell_of()
    two = one.model_copy(update={"metrics": one.metrics | {"accuracy": Interval(0.1, 0.09, 0.11)}})
    other = two.model_copy(update={"batch_size": 99})
    found = compare(summed(one), summed(two, other))
    assert found.differences[0].metric == "accuracy"
    assert found.differences[0].clear
    assert found.differences[0].change < 0
    assert not found.differences[-1].clear
    assert found.only_first == ()
    assert "batch 99" in found.only_second[0]


def places(*changes: dict[str, Any]) -> RowsSummary:
    return a_summary([record for change in changes for record in records_of(a_cell(**change), 2)])


def test_runs_with_other_defences_are_compared_across_them() -> None:
    noise = "gaussian_noise:deviation=0.1"
    found = compare(
        places({"batch_size": 1}, {"batch_size": 8}),
        places({"batch_size": 1, "defense": noise}, {"batch_size": 8, "defense": noise}),
    )
    assert len(found.differences) == 2 * len(HEADLINE["rows"])  # two batch sizes
    assert {each.differs for each in found.differences} == {f"defense none → {noise}"}
    assert {each.cell for each in found.differences} == {"batch 1", "batch 8"}
    assert found.equal == "clinic, fedsgd, mlp, untrained, tableak"
    assert found.only_first == found.only_second == ()


def test_equal_cells_come_before_those_compared_across_a_difference() -> None:
    found = compare(places({}, {"attack": "exact"}), places({}, {"attack": "fast"}, {"attack": "dlg"}))
    equal = len(HEADLINE["rows"])
    assert not any(each.differs for each in found.differences[:equal])
    assert {each.differs for each in found.differences[equal:]} == {"attack exact → fast", "attack exact → dlg"}


def test_cells_without_any_partner_are_named() -> None:
    found = compare(places({}, {"batch_size": 1, "attack_point": "best"}), places({"attack": "exact"}))
    assert {each.differs for each in found.differences} == {"attack tableak → exact"}
    assert found.only_first == ("clinic, fedsgd, mlp, batch 1, best, tableak",)


def test_settings_that_differ_are_named() -> None:
    one = places({}).model_copy(update={"settings": {"exposure": 5.0, "batch_sizes": [1], "seed": 0}})
    two = places({}).model_copy(update={"settings": {"exposure": None, "batch_sizes": [8], "seed": 0}})
    assert compare(one, two).settings == ("exposure 5.0 → not given",)


def test_runs_of_different_studies_are_not_compared() -> None:
    with pytest.raises(InputError, match="One run is of the study rows, the other of property"):
        compare(summed(cell_of()), a_property_summary())


def test_the_commands(tmp_path: Path) -> None:
    first, second = a_run(tmp_path / "a"), a_run(tmp_path / "b")
    other = a_run(tmp_path / "c", batch_size=77)
    ran = CliRunner().invoke(app, ["compare", str(first), str(second)], catch_exceptions=False)
    assert ran.exit_code == 0
    assert "within the intervals" in ran.output
    across = CliRunner().invoke(app, ["compare", str(first), str(other)], catch_exceptions=False)
    assert "Equal in both: clinic, fedsgd, mlp, untrained, tableak." in across.output
    assert "batch size 8 → 77" in across.output
    assert CliRunner().invoke(app, ["gate", "--run", str(first), "--max-emr", "1"]).exit_code == 0
    stopped = CliRunner().invoke(app, ["gate", "--run", str(first), "--max-emr", "0"])
    assert stopped.exit_code == 1
    assert "allowed is 0.0%" in stopped.output
    with pytest.raises(InputError, match="a plan"):
        CliRunner().invoke(app, ["gate", "--max-emr", "0"], catch_exceptions=False)


@pytest.mark.parametrize(("what", "column"), [("cells", "accuracy_high"), ("columns", "column"), ("records", "metric")])
def test_a_run_as_csv(tmp_path: Path, what: str, column: str) -> None:
    run, target = a_run(tmp_path / "run"), tmp_path / "run.csv"
    words = ["export", str(run), str(target), "--what", what]
    assert CliRunner().invoke(app, words, catch_exceptions=False).exit_code == 0
    frame = pl.read_csv(target)
    assert column in frame.columns
    assert frame.height >= 1
    with pytest.raises(InputError, match="exists already"):
        CliRunner().invoke(app, words, catch_exceptions=False)
    with pytest.raises(InputError, match="Did you mean 'cells'"):
        CliRunner().invoke(app, [*words[:2], "x.csv", "--what", "cell"], catch_exceptions=False)


def test_labels_that_guests_read_are_judged_too() -> None:
    cell = TrainingCell(dataset="clinic", design="tabvfl", guests=2)
    records = []
    for repeat in range(3):
        values = {Measure("model", "privacy/cells read by the host", way): 0.5 for way in ("as sent", "guessing")}
        values[Measure("model", "privacy/labels from gradients", "AUC by norm")] = 0.98
        records.append(Record(cell=cell, repeat=repeat, outcome="ok", values=values))
    judged = training_result(Trials.of(records)).judged["gain"]
    assert judged is not None
    assert judged.mean == pytest.approx(0.96)
