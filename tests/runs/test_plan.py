"""Plans: TOML files with the keys of the API."""

from __future__ import annotations

from pathlib import Path

import pytest

import seepage
from seepage._core import InputError
from seepage.runs import make_plan, read_plan, with_typed
from tests import cases

PLAN = """
data = "table.csv"
target = "target"
models = ["mlp:width=8", "linear"]
defense = "gaussian_noise:0.1"     # one, where several are allowed
batch_sizes = [2]
attack_points = ["initialized"]
attack_options = {steps = 3}
exposure = 0
trials = 2
clients = 2
sensitive = ["smoker"]
"""


def written(folder: Path, text: str = PLAN) -> Path:
    path = folder / "plan.toml"
    path.write_text(text)
    return path


def test_a_plan_gives_what_the_api_gives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    cases.frame().write_csv("table.csv")
    values = read_plan(written(tmp_path))
    planned = seepage.audit(**values)
    called = seepage.audit(
        "table.csv", "target", models=("mlp:width=8", "linear"), defenses=("gaussian_noise:0.1",), batch_sizes=2,
        attack_points="initialized", attack_options={"steps": 3}, exposure=0, trials=2, clients=2, sensitive="smoker",
    )  # fmt: skip
    assert planned.command == called.command
    assert [cell.metrics for cell in planned.cells] == [cell.metrics for cell in called.cells]
    assert len(planned.cells) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "batchsizes = [1]",
            r"Unknown setting of the study rows in the plan .*plan.toml: 'batchsizes'.*Did you mean 'batch_sizes'",
        ),
        ("data = 'adult'\n[model_option]\nwidth = 3", "Did you mean 'model_options'"),
        ("defenses = ['gausian_noise:0.1']", "Did you mean 'gaussian_noise'"),
        ("trials = 0", "must be at least 1"),
        ("trials = 'many'", "must be a whole number"),
        ("drop = 3", "'drop' is 3"),
        ("study = 'row'", "Unknown study 'row'.*Did you mean 'rows'"),
        ("people = 3", "The setting 'people' in the plan .* belongs to the study vertical; this is the study rows"),
        ("[grid]\npeople = [3]", "'people' in the plan's grid belongs to the study vertical"),
        ("[[cases]]\nstudy = 'vertical'", "a plan is of one study, said at its top"),
        ("attacks = ['cafe']", "The attack 'cafe' works in the study vertical; this is the study rows"),
        ("protocol = 'vertical'", 'of an earlier form: .* Write study = "vertical"'),
        ("attacks = ['property']", 'of an earlier form: .* Write study = "property"'),
        ("target = 3", "'target' is 3"),
        ("task = 'binry'", "Did you mean 'binary'"),
        ("trials = ", "is not valid TOML"),
    ],
)
def test_a_mistake_is_one_sentence(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        read_plan(written(tmp_path, text))
    assert "\n" not in str(caught.value)


def test_a_plan_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="There is no plan"):
        read_plan(tmp_path / "none.toml")
    with pytest.raises(InputError, match="cannot be read"):
        read_plan(tmp_path)


def test_what_is_typed_goes_before_a_grid_and_cases() -> None:
    values = {"seed": 1, "grid": {"seed": [0, 1], "model": ["mlp", "linear"]}, "cases": [{"name": "a", "trials": 3}]}
    typed = with_typed(values, {"seed": 7, "models": ("resnet",), "trials": 5})
    assert typed == {"seed": 7, "models": ("resnet",), "trials": 5, "cases": [{"name": "a"}]}


def test_a_key_in_two_ways_of_writing_is_told() -> None:
    with pytest.raises(InputError, match="'model' and 'models' in the plan's grid"):
        make_plan({"data": "adult", "grid": {"model": ["mlp"], "models": ["linear"]}})


def test_cases_that_share_an_attack_are_told() -> None:
    two = [{"name": "x", "attacks": ["exact"]}, {"name": "x", "attacks": ["exact", "tableak"]}]
    with pytest.raises(InputError, match="test the same thing"):
        make_plan({"data": "adult", "cases": two})
