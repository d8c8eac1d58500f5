"""Things of a plan that must not be mixed up: objects, cells, tables; and what cannot be run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import seepage
from seepage._core import InputError, Progress, Streams, silent
from seepage.attacks import Together
from seepage.defenses import GaussianNoise
from seepage.observation import Claim, Observation, Scene
from seepage.plans.registry import make
from seepage.results.rows import RowsSummary
from seepage.runs import make_plan, with_typed
from tests import cases

SMALL: dict[str, Any] = {
    "data": cases.frame(), "target": "target", "batch_sizes": [2], "attack": "inverting_gradients:steps=2",
    "attack_points": ["initialized"], "exposure": 0, "trials": 2, "clients": 2,
}  # fmt: skip


def test_two_objects_of_one_class_stay_two() -> None:
    named = [{"name": "weak", "defense": GaussianNoise(deviation=0.001)}]
    named += [{"name": "strong", "defense": GaussianNoise(deviation=10.0)}]
    plan = make_plan(SMALL | {"cases": named})
    specs = [variant.settings.defenses[0] for variant in plan.variants]  # type: ignore[attr-defined]
    assert [make("defence", spec, "rows").deviation for spec in specs] == [0.001, 10.0]
    one, other = (make_plan(SMALL | {"defense": GaussianNoise(deviation=size)}) for size in (1.0, 2.0))
    assert one.fingerprint != other.fingerprint


@pytest.mark.parametrize(
    ("study", "values"),
    [
        ("training", {"data": "clinic", "cases": [{"design": "tabvfl"}, {"guests": 5}]}),
        ("vertical", {"data": "clinic", "people": 100, "cases": [{"seed": 0}, {"batches": 110, "seed": 0}]}),
        ("rows", {"data": "clinic", "cases": [{"attack_points": ["auto"]}, {"attack_points": ["initialized"]}]}),
        ("rows", {"data": "clinic", "attack_points": ["1", "1.0"]}),
    ],
)
def test_cells_that_would_be_the_same_are_refused(study: str, values: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="test the same thing"):
        make_plan({"study": study} | values)


def test_property_plans_may_have_grids_over_what_reads_the_same_models() -> None:
    values = {"study": "property", "data": "clinic", "property": "sex == 'female'", "grid": {"loss": ["nll", "sor"]}}
    assert len(make_plan(values).variants) == 2


def test_a_grid_over_runs_names_its_variants() -> None:
    plan = make_plan({"study": "training", "data": "clinic", "grid": {"runs": [1, 2]}})
    assert [variant.name for variant in plan.variants] == ["runs=1", "runs=2"]


def test_typed_options_make_cases_that_became_equal_one() -> None:
    values = {"study": "rows", "data": "clinic", "cases": [{"batch_size": 1}, {"batch_size": 8}]}
    assert len(make_plan(with_typed(values, {"batch_sizes": (4,)})).variants) == 1


def test_a_mistake_stops_before_anything_is_written_with_workers_too(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="larger than the smallest client"):
        seepage.audit(**SMALL | {"batch_sizes": [5000]}, jobs=2, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_choice_that_cannot_be_run_does_not_cost_the_summary(tmp_path: Path) -> None:
    from seepage.runs import run

    values = SMALL | {"protocol": "fedavg", "local_rows": 4, "batch_sizes": [2, 8]}
    summary = run(make_plan(values), out=tmp_path / "run", command="", strict=False)
    assert isinstance(summary, RowsSummary)
    assert [cell.batch_size for cell in summary.cells] == [2]
    assert [missing.state for missing in summary.not_run] == ["impossible"]
    assert [entry.batch_size for entry in summary.applicability] == [2]


@dataclass(frozen=True, kw_only=True)
class Breaking:
    """Breaks, as somebody else's attack may."""

    def start(self, scene: Scene, streams: Streams, *, progress: Progress = silent) -> Together[Observation]:
        return Together(self._claims)

    def _claims(self, observations: Sequence[Observation]) -> list[Claim]:
        raise ValueError("a cell of the table: Smith")


def test_an_attack_that_breaks_is_a_failed_cell_and_the_others_go_on(caplog: pytest.LogCaptureFixture) -> None:
    summary = seepage.audit(**{key: value for key, value in SMALL.items() if key != "attack"}, attacks=[
        Breaking(), "inverting_gradients:steps=2",
    ])  # fmt: skip
    broken, other = summary.cells
    assert (broken.outcome, broken.failed) == ("failed", 2)
    assert "ValueError in test_mixing.py" in broken.notes[0]
    assert "Smith" not in summary.to_json()
    assert "Breaking stopped with an internal error" in caplog.text
    assert other.failed == 0


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"models": [5]}, "A model is 5; it must be a name"),
        ({"models": [{"name": "mlp"}]}, "it must be a name"),
        ({"models": None}, "A model is None"),
        ({"attacks": ["os.path:join"]}, "cannot be made|has no method"),
        ({"attacks": [".x:y"]}, "not of the form package.module:object|Unknown attack"),
        ({"defenses": ["math:pi"]}, "has no method 'protect'"),
        ({"attacks": [object()]}, "has no method 'start'"),
        ({"trials": True}, "Setting 'trials' is true"),
        ({"cases": 5}, "'cases' are tables"),
    ],
)
def test_values_that_are_none_of_what_is_asked_for(values: dict[str, Any], sentence: str) -> None:
    asked = {key: value for key, value in SMALL.items() if not (key == "attack" and "attacks" in values)}
    with pytest.raises(InputError, match=sentence):
        make_plan(asked | values)


@pytest.mark.parametrize("text", ["cases = 5", f"seed = {'1' * 5000}", "x = " + "[" * 5000])
def test_plans_that_no_one_writes_are_one_sentence(tmp_path: Path, text: str) -> None:
    (tmp_path / "plan.toml").write_text(text)
    with pytest.raises(InputError):
        seepage.read_plan(tmp_path / "plan.toml")


def test_tables_of_one_name_with_other_columns_are_both_described() -> None:
    summary = seepage.audit(**SMALL | {"data": cases.frame()}, cases=[
        {"name": "a", "drop": ["age"]}, {"name": "b", "drop": ["size"]},
    ])  # fmt: skip
    assert {each.name for each in summary.dataset.dropped} == {"age", "size"}


def test_no_jobs_are_a_mistake() -> None:
    with pytest.raises(InputError, match="There are 0 jobs"):
        seepage.audit("clinic", jobs=0)
