"""Plans: those of TabLeak's figures run on a small table, those of the profiling study have its set-up."""

from __future__ import annotations

from pathlib import Path

import pytest

import seepage
from seepage.runs import read_plan
from tests import cases

ROOT = Path(__file__).parents[2] / "reproductions" / "tableak"
PROFILING = ROOT.parent / "profiling"
SMALL = {"data": cases.frame(), "target": "target", "trials": 2, "clients": 2}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["network_size", "noise"])
def test_a_plan_runs(name: str) -> None:
    values = read_plan(ROOT / f"{name}.toml")
    asked = len(values["models"]) * len(values.get("defenses", ["none"])) * len(values["attacks"])
    sizes = [size for size in values["batch_sizes"] if size <= 16] or [8]
    small = SMALL | {"batch_sizes": sizes, "attack_options": {"steps": "2", "restarts": "2"}}
    summary = seepage.audit(**(values | small))
    assert len(summary.cells) == asked * len(sizes)
    assert all(cell.failed == 0 for cell in summary.cells)


def test_the_networks_are_those_of_figure_8() -> None:
    models = read_plan(ROOT / "network_size.toml")["models"]
    assert [model.split(":")[1:] for model in models] == [
        ["width=50", "depth=1"], ["width=100", "depth=1"], ["width=100", "depth=2"], ["width=200", "depth=3"],
        ["width=400", "depth=3"],
    ]  # fmt: skip


def test_the_noise_is_that_of_figures_4_to_7() -> None:
    defenses = read_plan(ROOT / "noise.toml")["defenses"]
    assert [spec.rpartition(":")[2] for spec in defenses] == ["none", "0.001", "0.01", "0.1"]


@pytest.mark.parametrize("file", sorted(PROFILING.glob("*.toml")), ids=lambda file: file.stem)
def test_every_plan_of_the_profiling_study_has_the_studys_own_set_up(file: Path) -> None:
    values = read_plan(file)
    assert values["matching"] == "study"
    names = {spec.split(":")[0] for spec in values["attacks"]}
    assert "profiling" in names
    assert names <= {"profiling", "profiling_simplex", "exact"}
    assert "exact" in names or "budgets" in file.stem  # what an architecture hides from one attack, another may read
    assert all("start=xavier" in spec for spec in values["models"] if spec.startswith("mlp"))
    if values["protocol"] == "fedavg":
        assert values["local_order"] == "kept"
        assert values["only_local_rows"] is True
    if "california_housing" in values.get("grid", {}).get("data", []):
        assert values["targets"] == "none"
