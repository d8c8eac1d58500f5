"""Secure aggregation: the server is given sums, and what they were made of leaves no trace."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from seepage._core import InputError, Streams
from seepage.federation import FedSGD
from seepage.federation.cohorts import SecureAggregation
from seepage.observation.sums import CohortSum
from tests.attacks.cohorts.example import KNOWN, population, watched


def gap(one: CohortSum, other: CohortSum) -> float:
    """The largest difference of two sums, of the largest entry."""
    scale = max(float(value.abs().max()) for value in one.total.values())
    return max(float((one.total[name] - other.total[name]).abs().max()) for name in one.total) / scale


def test_a_sum_is_the_update_of_one_batch_of_all_rows() -> None:
    made = population()
    (only,), truth = SecureAggregation(protocol=FedSGD(batch_size=2), cohort=3)(made, KNOWN, Streams(0))
    places = np.concatenate([made.owned[client] for client in only.cohort])
    whole = made.learner.gradient(only.parameters, made.x[places], made.y[places])
    update = only.as_update().update
    for name, value in whole.items():
        assert torch.allclose(update[name], value, rtol=1e-4, atol=1e-7)
    assert truth.watched == set(only.cohort)


def test_the_order_of_rows_and_of_clients_leaves_no_trace() -> None:
    made, streams = population(), Streams(4)
    rounds = SecureAggregation(protocol=FedSGD(batch_size=2), cohort=8, rounds=2)
    plain, _ = rounds(made, KNOWN, streams)
    order = np.arange(len(made.x))
    for rows in made.owned:
        order[rows] = rows[::-1]
    shuffled, _ = rounds(replace(made, x=made.x[order], y=made.y[order]), KNOWN, streams)
    renamed, _ = rounds(replace(made, owned=made.owned[::-1]), KNOWN, streams)
    for other in (shuffled, renamed):
        assert max(gap(one, two) for one, two in zip(plain, other, strict=True)) < 1e-5


def test_cohorts_change_and_weights_move() -> None:
    sums, truth = watched(cohort=3, rounds=4)
    assert len({each.cohort for each in sums}) > 1
    assert not sums[0].same_model(sums[1])
    assert truth.cohorts == tuple(each.cohort for each in sums)
    far, _ = SecureAggregation(protocol=FedSGD(batch_size=2), cohort=3, rounds=2, apart=4)(
        population(), KNOWN, Streams(0)
    )
    assert [each.number for each in far] == [1, 6]


def test_a_round_that_is_run_again_is_at_the_same_weights_without_one_client() -> None:
    sums, truth = watched(cohort=4, rounds=2, rerun=True)
    first, again = sums[0], sums[-1]
    assert first.same_model(again)
    assert set(first.cohort) - set(again.cohort) == {truth.absent}
    assert again.exchange.rows == first.exchange.rows - 2


@pytest.mark.parametrize(("cohort", "said"), [(1, "hides nothing"), (0, "at least 2"), (9, "drawn from 8 clients")])
def test_cohorts_that_cannot_be_are_refused(cohort: int, said: str) -> None:
    with pytest.raises(InputError, match=said):
        watched(cohort=cohort)


def test_rounds_that_cannot_be_are_refused() -> None:
    with pytest.raises(InputError, match="0 rounds"):
        watched(cohort=2, rounds=0)
