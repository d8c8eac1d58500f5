"""The study of cohorts: sums are attacked, scored beside chance, and the cohort that hides is counted and measured."""

from __future__ import annotations

from pathlib import Path

import pytest

import seepage
from seepage._core import InputError
from seepage.data import clinic
from seepage.report import render
from seepage.results import Run, read_summary
from seepage.results.cohorts import CohortsResult, CohortsSummary
from tests.report.example import Reader

SMALL: dict[str, object] = {"clients": 8, "rows_each": 2, "trials": 1, "target": "died"}


def audited(out: Path | None = None, **settings: object) -> CohortsSummary:
    summary = seepage.audit(clinic(rows=400), study="cohorts", out=out, **(SMALL | settings))  # type: ignore[arg-type]
    assert isinstance(summary, CohortsSummary)
    return summary


def read(cell: CohortsResult, name: str = "read") -> float:
    value = cell.metrics[name]
    assert value is not None
    return value.mean


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[CohortsSummary, Path]:
    folder = tmp_path_factory.mktemp("cohorts") / "run"
    return audited(folder, cohort_sizes=[3], rounds=[1, 4]), folder


def test_small_cohorts_are_read_with_owners(whole: tuple[CohortsSummary, Path]) -> None:
    summary, folder = whole
    cells = {(cell.attack, cell.rounds): cell for cell in summary.cells}
    assert len(cells) == 8  # one cohort tells no owner
    assert read(cells["rows_of_sum", 1]) == read(cells["rows_of_sum", 4]) == 1.0
    assert read(cells["difference", 1]) == 1.0
    assert read(cells["groups", 4]) > read(cells["groups", 4], "guess")
    assert read(cells["categories_of_sum", 1]) == 1.0
    for cell in summary.cells:
        for name in ("certified_wrong", "wrong"):
            value = cell.metrics.get(name)
            assert value is None or value.mean == 0
    assert read_summary(Run.open(folder)).cells == summary.cells


def test_the_report_names_its_threat_model(whole: tuple[CohortsSummary, Path]) -> None:
    summary, _ = whole
    text = Reader(render(summary)).text
    assert "a sum over a cohort of clients" in text
    assert "“Hides” is said of one sum" in text
    assert "Who of the 8 clients took part in which round" in text


def test_the_cohort_that_hides_is_counted_and_measured() -> None:
    attack = "rows_of_sum:steps=2:restarts=1:start_steps=5:starts=2"
    summary = audited(cohort_sizes=[2, 8], rounds=1, model="mlp:width=14", attacks=attack)
    (hiding,) = summary.hiding
    assert (hiding.predicted, hiding.leaking, hiding.measured) == (7, 2, 8)
    assert summary.counted[0].rows == 14  # LayerNorm takes one of 14 directions


def test_one_cohort_over_rounds_is_stacked() -> None:
    summary = audited(
        clients=6, cohort_sizes=6, rounds=2, cohorts="same", model="mlp:width=12", attacks=["stacked_sums", "groups"]
    )
    (cell,) = summary.cells
    assert cell.attack == "stacked_sums"
    assert cell.strongest == (("stacked_sums",), ("rows_of_sum",))
    assert read(cell) == 1.0


def test_fedavg_with_several_steps_is_read_by_its_first_layer() -> None:
    summary = audited(
        protocol="fedavg", local_epochs=2, rows_each=1, cohort_sizes=2, rounds=1, attacks=["rows_of_sum", "difference"]
    )
    assert [read(cell) for cell in summary.cells] == [1.0, 1.0]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"cohort_sizes": [1]}, "A cohort of 1 is one client: .* hides nothing"),
        ({"cohort_sizes": [9]}, "cannot be drawn from 8 clients"),
        ({"rows_each": 0}, "'rows_each' is '0'|'rows_each' is 0"),
        ({"rows_each": 100}, "need 800 rows to train on"),
        ({"attacks": ["groups"], "rounds": [1]}, "has anything to read here"),
        ({"attacks": ["exact"]}, "works in the study rows"),
        ({"local_epochs": 2}, "belongs to the protocol fedavg"),
        ({"apart": 2, "rounds": [1]}, "only one is"),
    ],
)
def test_what_cannot_be_is_one_sentence(settings: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        audited(**({"cohort_sizes": [2]} | settings))
