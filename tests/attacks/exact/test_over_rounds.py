"""Rows of one client from several of its rounds: the same ones, overlapping ones, and rounds of many steps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from seepage._core import Outcome, Streams
from seepage.attacks import Exact
from seepage.attacks.exact.case import Case
from seepage.attacks.exact.certificate import certify
from seepage.attacks.exact.over_rounds import _filled, agreed
from seepage.attacks.exact.view import codes_of, joined, view_of
from seepage.observation import Claim
from tests.attacks.exact.test_rounds import ROWS, a_batch, a_net, a_world, missed, seen

SHORT = Exact(steps=2, restarts=1, start_steps=2, starts=1, turns=2, nodes=2_000, compile="no")


def test_the_attack_exact_joins_the_rounds_that_it_is_given() -> None:
    batch = a_batch(0)
    *earlier, last = seen(a_net(), [batch] * 4)
    (alone,) = SHORT([last], Streams(0))
    (claim,) = SHORT([replace(last, earlier=tuple(earlier))], Streams(0))
    assert alone.certified is None or not alone.certified.all()
    assert claim.rows is not None
    assert claim.certified is not None
    assert claim.certified.all()
    assert missed(batch[0], claim.rows) == 0
    assert claim.labels is not None
    assert sorted(claim.labels.tolist()) == sorted(batch[1].long().tolist())


def test_the_few_equations_that_deeper_layers_leave_add_up_over_rounds() -> None:
    x, y = a_batch(3, 10)
    rounds = seen(a_net(), [(x, y)] * 4)
    views = [view_of(each) for each in rounds]
    together = joined(views)
    assert sum(together.spans[place].equations for place in views[0].deep) == 3
    assert sum(together.spans[place].equations for place in together.deep) == 12
    assert [value.shape[1] for value in together.inputs(x.double())] == [30, 13] * 4
    every = torch.cat([x, a_batch(50, 20)[0]])  # and rows that are not there
    found = certify(together, codes_of(rounds[0].layout, every.double()), every[:, :2].double())
    assert len(found) == 10
    assert missed(x, together.rows_of(found.codes, found.numbers).numpy()) == 0
    taken = together.without(x[:1].double(), y[:1].long())
    assert taken.rows == 9
    assert [span.rank for span in taken.spans] == [9] * 8


def test_a_row_that_one_round_proves_is_proven_in_others_that_hold_it() -> None:
    """Who is in which batch nobody says."""
    (x, y), few = a_batch(3, 10), [1, 4]
    rounds = seen(a_net(), [(x[few], y[few]), (x, y)])
    (claim,) = SHORT([replace(rounds[1], earlier=(rounds[0],))], Streams(0))
    assert claim.rows is not None
    assert claim.certified is not None
    assert len(claim.rows) == 10
    proven = claim.rows[claim.certified]
    assert missed(x[few], proven) == 0
    assert float(torch.cdist(torch.from_numpy(proven).double(), x.double()).min(1).values.max()) < 0.01


def test_a_row_of_another_round_is_not_put_into_this_one() -> None:
    other, batch = a_batch(8, 2), a_batch(3, 10)
    rounds = seen(a_net(), [other, batch])
    (claim,) = SHORT([replace(rounds[1], earlier=(rounds[0],))], Streams(0))
    assert claim.rows is not None
    certified = np.zeros(len(claim.rows), dtype=bool) if claim.certified is None else claim.certified
    assert missed(other[0], claim.rows[certified]) == 2 if certified.any() else not certified.any()


def test_two_people_who_are_nearly_equal_are_not_proven_as_their_mean_twice() -> None:
    """A find of the fuzz: 0.05 deviations apart, their mean was certified, twice."""
    (*_, x), rounds = a_world(400107)
    (claim,) = Exact(steps=2, start_steps=2, compile="no")(
        [replace(rounds[-1], earlier=tuple(rounds[:-1]))], Streams(400107)
    )
    assert claim.rows is not None
    assert claim.certified is not None
    proven = torch.from_numpy(claim.rows[claim.certified]).double()
    assert len(proven) > 4
    assert float(torch.cdist(proven, x.double()).min(1).values.max()) < 0.02


def test_a_claim_without_labels_is_complete_and_stays_as_it_is() -> None:
    """Rounds that add up prove some rows; another way proves fewer. A world of a fuzz ended in an error here."""
    rows = np.arange(6.0).reshape(3, 2)
    found = Claim(outcome=Outcome.BUDGET_SPENT, rows=rows, certified=np.array([True, True, False]))
    other = replace(found, rows=rows + 10, certified=np.zeros(3, dtype=bool))
    assert _filled(found, other) is found
    told = replace(found, labels=np.array([0.0, 1.0, np.nan]))
    completed = _filled(told, other).rows
    assert completed is not None
    assert completed[:2].tolist() == rows[:2].tolist()
    assert completed[2].tolist() in (rows + 10).tolist()


def test_rows_that_most_rounds_read_are_believed() -> None:
    x, _ = a_batch(1)
    (observation,) = seen(a_net(), [a_batch(1)])
    wrong = x.clone()
    wrong[0] = a_batch(50)[0][0]
    claims = [
        Claim(outcome=Outcome.BUDGET_SPENT, rows=rows.numpy(), certified=np.zeros(ROWS, dtype=bool))
        for rows in (x, x, wrong)
    ]
    claim = agreed(claims, observation)
    assert claim.rows is not None
    assert missed(x, claim.rows) == 0
    assert "16 of 16 rows were read alike" in claim.note


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 200, 10))
def test_no_row_that_rounds_prove_together_is_wrong(first: int) -> None:
    proven_rows = 0
    for seed in range(first, first + 10):
        (*_, x), rounds = a_world(seed)  # the claim is about the last round
        (claim,) = SHORT([replace(rounds[-1], earlier=tuple(rounds[:-1]))], Streams(seed))
        if claim.rows is None or claim.certified is None:
            continue
        proven = torch.from_numpy(claim.rows[claim.certified]).double()
        proven_rows += len(proven)
        assert not len(proven) or float(torch.cdist(proven, x.double()).min(1).values.max()) < 0.02, seed
    assert proven_rows


def test_rows_are_ranked_by_deeper_layers_where_the_first_is_used_up() -> None:
    x, y = a_batch(3, 8)
    (observation,) = seen(a_net(), [(x, y)])
    several = replace(observation.exchange, protocol="fedavg", batch_size=4, learning_rate=0.1)
    case = Case(replace(observation, exchange=several))
    deep = case.view.deep
    case.view = replace(
        case.view,
        layers=tuple(case.view.layers[place] for place in deep),
        spans=tuple(case.view.spans[place] for place in deep),
    )
    far = case._misfit(x.double())
    assert far.shape == (8,)
    assert bool(far.isfinite().all())
