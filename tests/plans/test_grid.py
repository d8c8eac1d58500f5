"""Grids are counted before any of them is made."""

from __future__ import annotations

import pytest

import seepage
from seepage._core import InputError
from seepage.data import clinic
from seepage.models import Learner
from seepage.plans.grid import MOST
from seepage.runs import make_plan, open_sources
from seepage.runs.probe import impossible

TEN = list(range(1, 11))
NINE = ("seed", "learning_rate", "trials", "positive_weight", "exposure", "local_epochs", "alpha", "clients", "rows")


def test_a_billion_cells_are_one_sentence_at_once() -> None:
    grid = dict.fromkeys(("batch_size", *NINE[:-1]), TEN)
    with pytest.raises(InputError, match=f"1,000,000,000 cells or more, and at most {MOST:,}"):
        make_plan({"data": "clinic", "grid": grid})


@pytest.mark.parametrize(
    "values",
    [
        {"batch_sizes": range(1, 1001), "attack_points": range(1000)},
        {"cases": [{"seed": number} for number in range(300)], "grid": {"trials": list(range(1, 301))}},
        {"grid": {"seed": list(range(1000))}, "batch_sizes": range(1, 101)},
        {"study": "training", "runs": MOST},
        {"study": "vertical", "batch_sizes": range(1, MOST)},
        {"study": "property", "property": "sex == 'female'", "classes": [997, 991, 983]},
        {"study": "property", "property": "sex == 'female'", "models": 1_000_000, "classes": [4, 25]},
    ],
)  # fmt: skip
def test_lists_that_multiply_are_counted_too(values: dict[str, object]) -> None:
    with pytest.raises(InputError, match="cells or more, and at most"):
        make_plan({"data": "clinic"} | values)


def test_thousands_of_cells_share_what_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    tried, split = [], []
    gradient = Learner.gradient

    def counted(self: Learner, *args: object, **options: object) -> object:
        tried.append(1)
        return gradient(self, *args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(Learner, "gradient", counted)
    grid = {"learning_rate": [number / 1000 for number in range(1, 101)], "trials": TEN}
    plan = make_plan({"data": clinic(rows=120), "target": "died", "exposure": 1, "batch_size": 2, "grid": grid})
    sources = open_sources(plan)
    own = type(sources[0]).split
    monkeypatch.setattr(type(sources[0]), "split", lambda *arguments: split.append(1) or own(*arguments))
    assert impossible(plan, sources) == []
    assert len(plan.tasks) == 1000
    assert len(tried) == 1
    assert len(split) == 1


def test_a_grid_of_ordinary_size_runs() -> None:
    summary = seepage.audit(
        clinic(rows=200),
        target="died",
        grid={"seed": [0, 1]},
        exposure=0,
        trials=1,
        clients=2,
        batch_size=2,
        attack_points=("initialized",),
        attack_options={"steps": 2},
    )
    assert len(summary.cells) == 2
