"""Rows chosen by what they send together: the parts are exact on the truth, and the whole beats the optimiser."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from scipy.optimize import linear_sum_assignment
from torch import Tensor

from seepage._core import InputError, NotApplicable, Outcome, Streams
from seepage.attacks.exact.case import Case
from seepage.attacks.exact.view import codes_of
from seepage.attacks.inversion import fast
from seepage.attacks.pursuit import Pursuit
from seepage.attacks.pursuit.atoms import Atoms, counted, labelled, merged
from seepage.attacks.pursuit.choosing import Target, fitted, refined
from seepage.attacks.pursuit.measuring import Measurements
from seepage.observation import Observation
from tests.attacks.exact.test_rounds import NUMERIC, a_batch, a_net, seen

MANY = 30  # rows on layers twelve wide


def a_world(rounds: int = 3) -> tuple[Tensor, Tensor, list[Observation]]:
    x, y = a_batch(5, MANY)
    return x, y, seen(a_net(), [(x, y)] * rounds)


def true_atoms(observation: Observation, x: Tensor, y: Tensor) -> Atoms:
    codes = codes_of(observation.layout, x)
    return Atoms(codes, x[:, :NUMERIC].double(), y.double(), torch.ones(len(x)).double())


def test_measurements_of_the_rows_add_up_to_those_of_what_was_sent() -> None:
    x, y, rounds = a_world()
    measured = Measurements.of(Case(rounds[-1]).view, rounds, torch.Generator().manual_seed(0))
    own = measured.of_atoms(true_atoms(rounds[0], x, y))
    assert own.shape == (MANY, len(measured.sent))
    assert float((own.sum(0) - measured.sent).norm() / measured.sent.norm()) < 1e-5


def test_the_rows_are_found_among_strangers_and_their_numbers_are_moved_back() -> None:
    x, y, rounds = a_world()
    measured = Measurements.of(Case(rounds[-1]).view, rounds, torch.Generator().manual_seed(0))
    true, others = true_atoms(rounds[0], x, y), true_atoms(rounds[0], *a_batch(6, 300))
    codes, numbers = torch.cat([true.codes, others.codes]), torch.cat([true.numbers, others.numbers])
    atoms = labelled(codes, numbers, 2)
    plain = measured.of_atoms(atoms)
    target = Target.of(measured, plain)
    weights = fitted(plain @ target.scaling, target.sent, atoms.weights)
    right = torch.zeros(len(atoms), dtype=torch.bool)
    right[torch.arange(MANY) + len(codes) * y.long()] = True
    assert weights[right].mean() > 10 * weights[~right].mean()
    assert weights.argsort(descending=True)[:MANY].unique().numel() == MANY
    assert right[weights.argsort(descending=True)[: MANY // 2]].float().mean() > 0.9

    drawn = torch.Generator().manual_seed(1)
    off = replace(true, numbers=true.numbers + 0.05 * torch.randn(true.numbers.shape, generator=drawn).double())
    back = refined(target, off)
    assert float(target.left(back).norm()) < 0.05 * float(target.left(off).norm())
    assert float((back.numbers - true.numbers).abs().median()) < 0.01


def test_equal_rows_become_one_and_heavy_ones_several() -> None:
    codes = torch.tensor([[0, 1], [0, 1], [2, 0], [1, 1]])
    weights = torch.tensor([0.5, 0.5, 2.1, 0.001]).double()
    atoms = Atoms(codes, torch.tensor([[0.0], [1.0], [3.0], [4.0]]).double(), torch.zeros(4).double(), weights)
    found = merged(atoms)
    assert found.codes.tolist() == [[0, 1], [2, 0]]  # what weighs nothing is gone
    assert found.numbers.tolist() == [[0.5], [3.0]]
    rows = counted(found, 3)
    assert sorted(rows.codes.tolist()) == [[0, 1], [2, 0], [2, 0]]
    assert len(merged(replace(atoms, weights=0 * weights))) == 0


def right(x: Tensor, rows: np.ndarray, observation: Observation) -> float:
    """The share of categories that are right, each row beside the true one that it fits best."""
    read, true = (codes_of(observation.layout, each) for each in (torch.from_numpy(rows), x))
    agree = (read[None] == true[:, None]).sum(2).numpy()
    return float(agree[linear_sum_assignment(-agree)].mean()) / true.shape[1]


@pytest.mark.slow
def test_what_is_chosen_over_rounds_is_nearer_than_what_the_optimiser_ends_at() -> None:
    x, _, rounds = a_world()
    budget: dict[str, Any] = {"restarts": 24, "steps": 120, "compile": "no"}
    (claim,) = Pursuit(turns=3, **budget)([replace(rounds[-1], earlier=tuple(rounds[:-1]))], Streams(3))
    (blind,) = replace(fast(), **budget)([rounds[-1]], Streams(3))
    assert claim.outcome is Outcome.BUDGET_SPENT
    assert claim.rows is not None
    assert blind.rows is not None
    assert claim.certified is None  # it proves nothing, and does not say that it does
    assert claim.rows.shape == tuple(x.shape)
    assert claim.labels is not None
    assert "3 round(s)" in claim.note
    assert right(x, claim.rows, rounds[0]) > right(x, blind.rows, rounds[0]) + 0.05


def test_where_rows_have_no_gradient_of_their_own_it_says_so() -> None:
    _, _, (observation, *_) = a_world(1)
    several = replace(observation.exchange, protocol="fedavg", batch_size=MANY // 2, learning_rate=0.1)
    with pytest.raises(NotApplicable, match="one local step"):
        Pursuit(restarts=1, steps=1)([replace(observation, exchange=several)], Streams(0))
    broken = {name: np.nan * value for name, value in observation.update.items()}
    (claim,) = Pursuit()([replace(observation, update=broken)], Streams(0))
    assert claim.outcome is Outcome.NOT_APPLICABLE
    with pytest.raises(InputError, match="turns is 0; it must be at least 1"):
        Pursuit(turns=0)
