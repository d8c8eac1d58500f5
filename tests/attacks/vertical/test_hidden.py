"""Rows in what is left of the second layer's gradients, when people who were read are taken away."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
import torch
from torch import Tensor

from seepage.attacks.vertical.hidden import Hidden, Members, SecondLayer, hidden_layers, shown
from seepage.attacks.vertical.hidden_fit import Polished, fitted, polished
from seepage.attacks.vertical.hidden_proof import judged
from seepage.attacks.vertical.relu_slopes import net_of, stacked
from tests.attacks.vertical.test_slopes import BATCH, BATCHES, LAYOUT, NUMBERS, PEOPLE, SIZES, people, watched, world

USUAL = torch.zeros(PEOPLE, sum(SIZES))


@dataclass(frozen=True, eq=False)
class Half:
    """A world in which three quarters of the people are read, and what is left of its second layer."""

    x: Tensor
    y: Tensor
    second: SecondLayer
    members: Tensor  # (batches, people)
    unread: Tensor  # numbers of people
    left: Hidden
    own: Members


def half(seed: int, off: float = 0.0) -> Half:
    (x, y), scene = people(seed), world(seed)
    seen = watched(scene, x, y)[: BATCHES // 2]
    members = torch.zeros(len(seen), PEOPLE, dtype=torch.bool)
    for place, update in enumerate(seen):
        members[place, update.rows] = True
    whole = torch.stack(
        [BATCH * torch.cat([each.gradient["2.weight"], each.gradient["2.bias"][:, None]], 1).double() for each in seen]
    )
    second = SecondLayer(whole, stacked([net_of(each.parameters, ("0", "2", "4")) for each in seen]).double())
    read = torch.arange(PEOPLE) % 4 > 0
    rows = x.double()
    rows[:, 0] += off
    left = second.without(rows, y, members & read, (members & ~read).sum(1))
    unread = (~read).nonzero()[:, 0]
    return Half(x.double(), y, second, members, unread, left, Members.of(members[:, unread]))


def test_people_show_where_they_are_and_nowhere_else_with_the_error_of_the_model() -> None:
    case = half(0)
    everywhere = Members.of(torch.ones(len(case.left), len(case.unread), dtype=torch.bool))
    rows = case.x[case.unread][everywhere.people]
    seen = shown(case.left, case.second.net, rows)
    there = case.members[:, case.unread].gather(1, everywhere.people)
    assert float(seen.shows[there].double().mean()) > 0.8
    assert not bool(seen.shows[~there].any())
    assert not bool(seen.lacks[there].any())
    answers = hidden_layers(case.second.net, rows).answers
    errors = answers - case.y[case.unread][everywhere.people]
    off = ((seen.errors - errors).abs() / errors.abs())[seen.shows]
    assert bool((off < 10 * seen.relative[seen.shows]).all())


def test_rows_are_found_from_a_blank_start_and_numbers_to_rounding() -> None:
    case, found = half(1), torch.zeros(0)
    usual = USUAL[case.unread]
    right = torch.zeros(len(case.unread), dtype=torch.bool)
    for seed in range(3):
        start = torch.randn(len(case.unread), LAYOUT.width, generator=torch.Generator().manual_seed(seed))
        found = fitted(case.left, case.second.net, case.own, usual, LAYOUT, 150, start)
        right |= (found[:, NUMBERS:] == case.x[case.unread][:, NUMBERS:]).all(1)
    assert float(right.double().mean()) > 0.5
    rough = case.x[case.unread].clone()
    rough[:, :NUMBERS] += 0.02 * torch.randn(len(rough), NUMBERS, generator=torch.Generator().manual_seed(9))
    exact = polished(case.left, case.second.net, case.own, rough, NUMBERS)
    off = (exact.rows - case.x[case.unread]).abs().amax(1)
    assert float(off.median()) < 1e-4
    sure = (exact.deviation < 1e-3).all(1) & (exact.misfit < 10)
    assert float(sure.double().mean()) > 0.6
    assert float(off[sure].max()) < 0.02


@pytest.mark.parametrize("seed", [2, 3])
def test_everybodys_own_row_is_proven_and_nobody_elses(seed: int) -> None:
    case = half(seed)
    rows, net = case.x[case.unread], case.second.net
    own = polished(case.left, net, case.own, rows, NUMBERS)
    said = judged(case.left, net, case.own, case.members, case.unread, own)
    assert float(said.certain.double().mean()) > 0.6
    assert not bool(said.refuted.any())
    assert torch.equal(said.labels[said.certain], case.y[case.unread][said.certain])
    for shift in (1, 7, 20):  # in many batches of everyone somebody else's row shows
        wrong = polished(case.left, net, case.own, rows.roll(shift, 0), NUMBERS)
        said = judged(case.left, net, case.own, case.members, case.unread, wrong)
        same = (wrong.rows - rows).abs().amax(1) < 0.02
        assert not bool((said.certain & ~same).any())
        assert float(said.refuted[~same].double().mean()) > 0.9


def test_a_category_that_is_wrong_is_not_proven() -> None:
    case = half(4)
    rows = case.x[case.unread].clone()
    first = slice(NUMBERS, NUMBERS + SIZES[0])
    rows[:, first] = rows[:, first].roll(1, 1)
    found = polished(case.left, case.second.net, case.own, rows, NUMBERS)
    assert not bool(judged(case.left, case.second.net, case.own, case.members, case.unread, found).certain.any())


def test_people_who_were_read_a_little_wrong_leave_noise_and_nothing_is_proven_wrong() -> None:
    case = half(5, off=0.01)
    rows = case.x[case.unread].clone()
    found = polished(case.left, case.second.net, case.own, rows, NUMBERS)
    said = judged(case.left, case.second.net, case.own, case.members, case.unread, found)
    off = (found.rows - case.x[case.unread]).abs().amax(1)
    assert float(off[said.certain].max() if said.certain.any() else 0) < 0.02


def test_a_table_without_numbers_needs_no_polish() -> None:
    case = half(6)
    found = polished(case.left, case.second.net, case.own, case.x[case.unread], 0)
    assert isinstance(found, Polished)
    assert torch.equal(found.rows, case.x[case.unread])
    assert found.deviation.shape == (len(case.unread), 0)
