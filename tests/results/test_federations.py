"""Intervals over federations and batches."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seepage._core import Streams
from seepage.results import Interval, bootstrap
from seepage.results.federations import drawn_in_groups, groups_of
from seepage.results.interval import bootstrap_columns

COLUMNS = 600


def two_levels(federations: int, batches: int, between: float) -> tuple[np.ndarray, np.ndarray]:
    """Values around 0 in many columns: batches have a deviation of 1, trainings of ``between``."""
    random = Streams(5).numpy("levels", federations, batches)
    trainings = between * random.normal(size=(federations, 1, COLUMNS))
    values = trainings + random.normal(size=(federations, batches, COLUMNS))
    return values.reshape(-1, COLUMNS), np.repeat(np.arange(federations), batches)


def covered(intervals: list[Interval | None]) -> float:
    return float(np.mean([each.low <= 0 <= each.high for each in intervals]))  # type: ignore[union-attr,operator]


def width(intervals: list[Interval | None]) -> float:
    return float(np.mean([each.high - each.low for each in intervals]))  # type: ignore[union-attr,operator]


@pytest.mark.parametrize(("federations", "least"), [(5, 0.86), (12, 0.87)])
@pytest.mark.parametrize("between", [0.5, 1.0, 3.0])
def test_the_variance_between_trainings_is_covered(federations: int, least: float, between: float) -> None:
    values, labels = two_levels(federations, 10, between)
    assert least <= covered(bootstrap_columns(values, labels)) <= 0.99
    assert covered(bootstrap_columns(values)) < 0.82  # batches as if they were independent


def test_trainings_that_do_not_differ_cost_little() -> None:
    values, labels = two_levels(8, 10, 0.0)
    two, plain = bootstrap_columns(values, labels), bootstrap_columns(values)
    assert covered(two) >= 0.93
    assert width(two) < 1.2 * width(plain)


@given(st.lists(st.floats(0, 1), min_size=2, max_size=12), st.integers(0, 9))
def test_one_federation_or_one_batch_of_each_is_the_plain_interval(values: list[float], number: int) -> None:
    table = np.array(values)[:, None]
    plain = bootstrap_columns(table)
    assert bootstrap_columns(table, np.full(len(values), number)) == plain
    assert bootstrap_columns(table, np.arange(len(values))) == plain
    assert bootstrap(values, federations=np.full(len(values), number)) == bootstrap(values)


def test_many_columns_and_one_value_list_agree_on_which_levels_there_are() -> None:
    values, labels = two_levels(6, 4, 2.0)
    alone = bootstrap(values[:, 0].tolist(), federations=labels)
    among = bootstrap_columns(values, labels)[0]
    assert alone is not None
    assert among is not None
    assert alone.mean == pytest.approx(among.mean)
    assert alone.low == pytest.approx(among.low, abs=0.3)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=12))
def test_draws_hold_whole_federations(labels: list[int]) -> None:
    groups = groups_of(np.array(labels))
    if groups is None:
        assert len(set(labels)) in (1, len(labels))
        return
    drawn = drawn_in_groups(groups, 50)
    assert drawn.sum(1) == pytest.approx(len(labels))
    assert (drawn >= 0).all()


def test_missing_numbers_leave_their_federation() -> None:
    values, labels = two_levels(3, 4, 1.0)
    values[labels == 2] = np.nan
    found = bootstrap_columns(values[:, :5], labels)
    kept = labels != 2
    assert found == bootstrap_columns(values[kept][:, :5], labels[kept])
