from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from seepage._core import Streams
from seepage.attacks.inversion import Inversion, Runs, tableak, tableak_no_pooling, tableak_no_softmax
from seepage.attacks.inversion.pooling import align, doubt
from seepage.attacks.inversion.pooling.doubt import FLOOR
from seepage.data import Layout
from seepage.observation import Space

LAYOUT = Layout(2, (3, 1, 2))
LOWEST = 0.5 + 0.5 * math.log(2 * math.pi * FLOOR**2)


def some_runs(seed: int, runs: int, rows: int = 5, layout: Layout = LAYOUT) -> np.ndarray:
    """Restarts whose blocks are distributions."""
    draw = Streams(seed).numpy("runs", runs)
    made = draw.normal(size=(runs, rows, layout.width))
    for block in layout.blocks:
        sharp = np.exp(5 * made[..., block])
        made[..., block] = sharp / sharp.sum(-1, keepdims=True)
    return made


@given(st.integers(0, 50), st.integers(1, 6), st.booleans())
def test_categories_are_between_none_and_all_the_doubt_there_can_be(seed: int, runs: int, probabilities: bool) -> None:
    found = doubt(some_runs(seed, runs), LAYOUT, probabilities=probabilities)
    assert found.shape == (5, 5)
    categories = found[:, 2:]
    assert (categories[:, 1] == 0).all()  # one category: nothing to doubt
    if probabilities or runs > 1:
        assert ((categories >= 0) & (categories <= 1)).all()
    else:
        assert np.isnan(categories[:, [0, 2]]).all()
    assert np.isnan(found[:, :2]).all() if runs == 1 else np.isfinite(found[:, :2]).all()


CODES = hnp.arrays(np.int64, 4, elements=st.integers(0, 2))
NUMBERS = hnp.arrays(np.float64, 4, elements=st.floats(-9, 9))


@given(st.integers(2, 6), CODES, NUMBERS)
def test_restarts_that_agree_leave_no_doubt(runs: int, codes: np.ndarray, numbers: np.ndarray) -> None:
    rows = np.concatenate([numbers[:, None], np.eye(3)[codes]], axis=1)
    found = doubt(np.stack([rows] * runs), Layout(1, (3,)), probabilities=True)
    assert found[:, 1] == pytest.approx(0, abs=1e-9)
    assert found[:, 0] == pytest.approx(LOWEST)


@given(st.integers(0, 50), st.permutations(range(5)))
def test_the_order_of_rows_in_a_restart_does_not_matter(seed: int, order: list[int]) -> None:
    runs, losses = some_runs(seed, 4), np.arange(4.0)
    mixed = runs.copy()
    mixed[2] = mixed[2, order]
    one, other = (doubt(align(each, losses), LAYOUT, probabilities=True) for each in (runs, mixed))
    assert np.allclose(one, other)


@given(st.integers(0, 50), st.integers(2, 6), st.floats(1e-3, 3), st.floats(1.01, 10))
def test_more_spread_is_more_doubt(seed: int, runs: int, spread: float, more: float) -> None:
    values = some_runs(seed, runs)
    little, much = (doubt(values * factor, LAYOUT, probabilities=False)[:, :2] for factor in (spread, spread * more))
    assert (much > little).all()
    assert much - little == pytest.approx(np.full_like(little, math.log(more)))  # a Gaussian's entropy moves by the log


@given(st.integers(1, 9))
def test_votes_have_the_entropy_of_their_shares(votes: int) -> None:
    """TabLeak, section 3.3: the relative frequency of each category over the restarts."""
    share = votes / 10
    runs = np.array([[[1.0, 0.0]]] * votes + [[[0.0, 1.0]]] * (10 - votes))
    expected = -(share * math.log2(share) + (1 - share) * math.log2(1 - share))
    for probabilities in (True, False):
        assert doubt(runs, Layout(0, (2,)), probabilities=probabilities)[0, 0] == pytest.approx(expected)


def test_the_gaussian_of_a_unit_spread() -> None:
    runs = np.array([-1.0, 0.0, 1.0]).reshape(3, 1, 1)
    assert doubt(runs, Layout(1, ()), probabilities=True)[0, 0] == pytest.approx(0.5 * math.log(2 * math.pi * math.e))


def test_one_restart_knows_its_own_softmax_only() -> None:
    found = doubt(np.array([[[4.0, 0.5, 0.5]]]), Layout(1, (2,)), probabilities=True)
    assert np.isnan(found[0, 0])
    assert found[0, 1] == pytest.approx(1)


def test_the_slot_for_unknown_categories_is_no_answer() -> None:
    layout = Layout(0, (3,), embedded=True)
    runs = np.array([[[0.5, 0.0, 0.5], [0.25, 0.25, 0.5], [0.0, 0.0, 1.0]]])
    assert doubt(runs, layout, probabilities=True)[:, 0] == pytest.approx([0, 1, 1], abs=1e-9)


def claimed(attack: Inversion, runs: np.ndarray, losses: np.ndarray, space: Space) -> np.ndarray:
    found = attack.pooled(Runs(runs, losses, None, None), space).doubt
    assert found is not None
    return found


def test_a_claim_tells_its_doubt_and_diverged_restarts_have_no_say() -> None:
    runs, space = some_runs(1, 4), Space(layout=LAYOUT)
    broken = runs.copy()
    broken[1] = np.nan
    losses = np.array([0.1, np.inf, 0.3, 0.2])
    found = claimed(tableak(), broken, losses, space)
    kept = [0, 2, 3]
    assert np.allclose(found, doubt(align(runs[kept], losses[kept]), LAYOUT, probabilities=True))
    assert (
        claimed(tableak(), runs, np.zeros(4), space) == claimed(tableak_no_pooling(), runs, np.zeros(4), space)
    ).all()


def test_free_blocks_vote_in_raw_units() -> None:
    """Standardised inputs are compared only after the shift and scale of each category are undone."""
    layout = Layout(0, (2,))
    shift, scale = torch.tensor([0.99, 0.01]), torch.tensor([0.1, 0.1])
    space = Space(layout=layout, standardised=True, shift=shift, scale=scale)
    runs = np.array([[[-0.2, 0.1]], [[0.1, -0.2]]])  # raw: (0.97, 0.02) and (1.0, -0.01)
    assert claimed(tableak_no_softmax(), runs, np.zeros(2), space)[0, 0] == pytest.approx(0, abs=1e-9)
    unknown = Space(layout=layout, standardised=True)
    assert claimed(tableak_no_softmax(), runs, np.zeros(2), unknown)[0, 0] == pytest.approx(1)
