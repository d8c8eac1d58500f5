"""The smallest cohort that hides, counted."""

from __future__ import annotations

import numpy as np
import pytest

from seepage._core import InputError
from seepage.attacks.applicability import Setup, row_limit
from seepage.attacks.cohorts.limit import limit_of
from seepage.models import TabNet, make_learner
from tests.attacks.cohorts.example import population


def a_setup(width: int = 32) -> Setup:
    made = population(width=width)
    return Setup(learner=made.learner, layout=made.encoder.layout, rows=1)


def test_one_row_more_than_the_layers_hold_apart() -> None:
    setup = a_setup()
    assert limit_of(setup, 1).rows == row_limit(setup) + 1 == 32
    assert limit_of(setup, 4).cohort == 8
    assert limit_of(setup, 5).cohort == 7
    alone = limit_of(setup, 100)
    assert alone.cohort == 2  # no cohort is smaller
    assert "every single client" in alone.why


def test_wider_layers_need_larger_cohorts() -> None:
    cohorts = [limit_of(a_setup(width), 2).cohort or 0 for width in (8, 16, 48)]
    assert cohorts == sorted(set(cohorts))


def test_equal_rows_share_a_place() -> None:
    setup, draw = a_setup(), np.random.default_rng(0)
    half = draw.integers(0, 40, (2000, 1)).astype(float)  # 40 different rows only
    different = np.arange(2000.0)[:, None]
    assert limit_of(setup, 1, different).rows == 32
    few = limit_of(setup, 1, half)
    assert few.rows is not None
    assert few.rows > 40
    assert "some are equal" in few.why


def test_a_model_of_which_one_row_is_read_hides_two() -> None:
    made = population()
    layout = made.encoder.layout
    learner = make_learner(TabNet(n_d=4, n_a=4, steps=2), layout.numeric, layout.sizes, "binary", 2, seed=0)
    found = limit_of(Setup(learner=learner, layout=layout, rows=1), 2)
    assert found.rows == 2  # one row alone is read in closed form
    assert found.why.startswith("The layers hold 1 row apart")


def test_rows_of_a_client_must_be_known() -> None:
    with pytest.raises(InputError, match="how many there are must be known"):
        limit_of(a_setup(), 0)
