"""Scenarios are defaults that a user may change; what leaks at any size is in summary, gate and report."""

from __future__ import annotations

from pathlib import Path

import pytest

import seepage
from seepage._core import InputError
from seepage.data import clinic
from seepage.plans.options import checked
from seepage.report.sections.verdict import verdict
from seepage.results.gate import Limits, breaches
from seepage.results.rows import RowsSummary
from seepage.studies.rows.scenarios import SCENARIOS
from seepage.studies.rows.settings import RowsSettings


@pytest.fixture(scope="module")
def silo() -> RowsSummary:
    found = seepage.audit(
        clinic(rows=4000),
        target="died",
        scenario="cross_silo",
        trials=5,
        exposure=4,
        attacks=["exact", "presence", "counts:clients=12"],
    )
    assert isinstance(found, RowsSummary)
    return found


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_scenario_is_a_set_of_defaults(name: str) -> None:
    settings = checked(RowsSettings, {"scenario": name})
    for key, value in SCENARIOS[name].items():
        assert getattr(settings, key) == value
    own = checked(RowsSettings, {"scenario": name, "trials": 3, "learning_rate": 0.5})
    assert (own.trials, own.learning_rate) == (3, 0.5)


def test_a_column_that_makes_the_clients_overrules_their_number() -> None:
    """FINDINGS: it was told that a number of clients was given, which only the scenario had."""
    settings = checked(RowsSettings, {"scenario": "cross_silo", "partition": "column", "partition_column": "ward"})
    assert settings.clients is None


def test_without_one_nothing_changes() -> None:
    assert checked(RowsSettings, {}) == RowsSettings()


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"optimiser": "adam"}, "'optimiser' belongs to the protocol fedavg"),
        ({"clip_norm": 1.0}, "'clip_norm' belongs to the protocol fedavg"),
        ({"scenario": "cross_slio"}, "cross_silo"),
        ({"participation": 0.0}, "above 0"),
    ],
)
def test_bad_settings_are_one_sentence(values: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        checked(RowsSettings, values)


def test_totals_are_in_the_summary_and_in_the_verdict(silo: RowsSummary) -> None:
    assert [cell.attack for cell in silo.cells] == ["exact", "exact"]
    assert all(cell.outcomes == {"not_applicable": 5} for cell in silo.cells)
    presence = [cell for cell in silo.tallies if cell.attack == "presence"]
    assert [cell.metrics["presence"].mean for cell in presence if cell.metrics["presence"]] == [1.0, 1.0]
    said = verdict(silo)
    assert "No attack on single rows applied" in said.headline
    assert "100" in said.headline


def test_a_gate_judges_totals(silo: RowsSummary) -> None:
    assert breaches(silo, Limits(presence=1.0)) == []
    assert breaches(silo, Limits(presence=0.0, counts=1.0)) != []
    with pytest.raises(InputError, match="needs the attack counts"):
        breaches(
            silo.model_copy(update={"tallies": tuple(cell for cell in silo.tallies if cell.attack == "presence")}),
            Limits(counts=0.1),
        )


def test_the_worst_case_says_that_it_is(tmp_path: Path) -> None:
    found = seepage.audit(clinic(rows=400), target="died", batch_sizes=2, trials=2, clients=2, exposure=0)
    assert any("Only the worst case was tested" in sentence for sentence in verdict(found).sentences)  # type: ignore[arg-type]
