"""Less work: what gets smaller, in which order, and what is said about it."""

from __future__ import annotations

import pytest

from seepage.reproductions import find_paper
from seepage.reproductions.narrowing import Values
from seepage.reproductions.scaling import scaled

ROWS: Values = {"trials": 30, "attacks": ["gradient_matching"], "exposure": 25, "attack_points": ["0", "25", "final"]}


def test_fewer_batches_come_first_and_then_shorter_attacks_and_trainings() -> None:
    scaling = find_paper("profiling").scaling
    half = scaled(ROWS, scaling, 0.5)
    assert half.values == ROWS | {"trials": 15}
    assert half.less == ("15 of 30 batches",)
    little = scaled(ROWS, scaling, 0.005)
    assert little.values == ROWS | {
        "trials": 3, "attacks": ["gradient_matching:steps=500"], "exposure": 1.25,
        "attack_points": ["0", "1.25", "final"],
    }  # fmt: skip
    assert little.less == ("3 of 30 batches", "0.05 of the attack's steps", "1.25 of 25 passes over the rows")
    assert scaled(ROWS, scaling, 1.0).less == ()


def test_options_of_a_spec_stay_beside_the_one_that_is_smaller() -> None:
    values = ROWS | {"attacks": ["gradient_matching:steps=20000:restarts=3"]}
    little = scaled(values, find_paper("profiling").scaling, 0.005)
    assert little.values["attacks"] == ["gradient_matching:steps=1000:restarts=3"]


def test_settings_that_multiply_take_the_root_of_the_share() -> None:
    values: Values = {"study": "training", "runs": 8, "rows": 50_000, "pretraining": 60, "finetuning": 60}
    less = scaled(values, find_paper("tabvfl").scaling, 0.005)
    assert less.values == values | {"runs": 2, "rows": 7071, "pretraining": 8, "finetuning": 8}
    assert less.less[:2] == ("2 of 8 runs", "7,071 of 50,000 rows")


def test_watched_batches_shrink_with_all_batches() -> None:
    table = find_paper("cafe").table("8")
    assert table.scaling is not None
    values: Values = {"study": "vertical", "batches": 20_000, "watch": [2000, 20_000]}
    assert scaled(values, table.scaling, 0.25).values == values | {"batches": 5000, "watch": [500, 5000]}


@pytest.mark.parametrize(("share", "models", "rows"), [(0.05, 115, 11_971), (0.0001, 9, 306)])
def test_rows_of_models_shrink_only_when_models_cannot(share: float, models: int, rows: int) -> None:
    values: Values = {"study": "property", "models": 2304, "rows": 11_971, "property_text": "a == 'b'"}
    less = scaled(values, find_paper("property").scaling, share)
    assert (less.values["models"], less.values["rows"]) == (models, rows)


def test_a_setting_in_the_grid_shrinks_there() -> None:
    values: Values = {"study": "training", "runs": 1, "grid": {"rows": [50_000, 20_000], "guests": [2, 5]}}
    less = scaled(values, find_paper("tabvfl").scaling, 0.25)
    assert less.values["grid"] == {"rows": [25_000, 10_000], "guests": [2, 5]}
