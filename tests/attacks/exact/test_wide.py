"""Wide tables take a cheaper way through the same algebra: small ones, sent that way, must give the same."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from seepage._core import Streams
from seepage.attacks import Exact
from seepage.attacks.exact import bent, span, zeros
from seepage.attacks.exact.certificate import Rows, certify
from seepage.attacks.exact.joint import affordable
from seepage.attacks.exact.search import span_search
from seepage.attacks.exact.single import misses, number_errors, polish, slopes_by_numbers
from seepage.attacks.exact.slopes import Dense, Projected
from seepage.attacks.exact.span import span_of
from seepage.attacks.exact.view import View, view_of
from seepage.data import Layout
from seepage.models import MLP, make_learner
from seepage.observation import Exchange, Observation, Space
from tests.attacks.exact.adversary import World, candidates, false_rows, make_world


@contextmanager
def all_wide() -> Iterator[None]:
    """Every table counts as wide."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(span, "WIDE", 0)
        patch.setattr(bent, "WIDE", 0)
        yield


def a_table(numeric: int, sizes: tuple[int, ...], rows: int, seed: int = 0) -> tuple[Observation, torch.Tensor]:
    """One float32 gradient of an MLP of two layers, and the rows behind it."""
    rng = np.random.default_rng(seed)
    learner = make_learner(MLP(width=24, depth=2), numeric, sizes, "binary", 2, seed=seed)
    blocks = [np.eye(size)[rng.integers(0, size, rows)] for size in sizes]
    x = torch.from_numpy(np.concatenate([rng.normal(size=(rows, numeric)), *blocks], 1)).float()
    update = learner.gradient(learner.initial(), x, torch.from_numpy(rng.integers(0, 2, rows)))
    exchange = Exchange(protocol="fedsgd", rows=rows, batch_size=rows)
    space = Space(layout=Layout(numeric, sizes))
    return Observation(
        learner=learner, space=space, parameters=learner.initial(), update=update, exchange=exchange
    ), x.double()


def said(every: list[Rows]) -> set[tuple[object, ...]]:
    """The certified rows, numbers to two digits; what was found and not proven depends on the last digit of a test."""
    return {
        (place, *codes, *numbers)
        for place, rows in enumerate(every)
        for codes, numbers in zip(
            rows.codes[rows.certain].tolist(), (rows.numbers[rows.certain] * 100).round().long().tolist(), strict=True
        )
    }


def found(world: World, view: View) -> list[Rows]:
    """What is certified among true rows, nearly true rows and nonsense, as they are and pulled onto the spans."""
    codes, numbers = candidates(world, view, np.random.default_rng(1))
    return [certify(view, codes, numbers), certify(view, codes, polish(view, codes, numbers))]


@pytest.mark.slow
def test_the_same_rows_are_certified() -> None:
    """Over twenty updates: on another processor a row that lies on the limit of a test may fall to its other side."""
    alike, both, spans = [], 0, []
    for number in range(20):
        world = make_world(7000 + number, (0, 30, 60)[number % 3])
        if not world.observation.finite:
            continue
        plain = view_of(world.observation)
        with all_wide():
            wide = view_of(world.observation)
            assert all(each.outside is None for each in wide.spans)
            pairs = zip(wide.spans, plain.spans, strict=True)
            spans.append(all((one.rank, one.equations) == (two.rank, two.equations) for one, two in pairs))
            others = said(found(world, wide)) if plain.layers else set()
        own = said(found(world, plain)) if plain.layers else set()
        alike.append(len(own & others))
        both += len(own | others)
    assert both > 8  # the test must have had something to compare
    assert both - sum(alike) <= 1
    assert spans.count(False) <= 1


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 10**9), st.sampled_from([0, 40]))
@pytest.mark.slow
def test_no_row_is_certified_that_is_no_record(seed: int, more: int) -> None:
    with all_wide():
        _, complaints = false_rows(make_world(seed, more))
    assert complaints == []


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**9))
def test_a_projection_solves_what_the_written_out_derivative_solves(seed: int) -> None:
    """Numbers that only deeper layers determine, held ones, weights of several steps, any place of the first layer."""
    rng = np.random.default_rng(seed)
    rows, inputs, rank, others = (int(rng.integers(*ends)) for ends in ((1, 4), (6, 40), (1, 5), (5, 9)))
    numeric, weight = int(rng.integers(1, inputs + 1)), float(rng.choice([1.0, 100.0]))
    right = torch.from_numpy(np.linalg.qr(rng.normal(size=(inputs, rank)))[0].T)
    slope = torch.from_numpy(rng.normal(size=(rows, others, numeric)))
    place = int(rng.integers(0, others + 1))
    first = weight * (torch.eye(inputs, dtype=torch.float64) - right.T @ right)
    dense = Dense(
        torch.cat([slope[:, :place], first[:, :numeric].expand(rows, -1, -1), slope[:, place:]], 1).contiguous()
    )
    parts = Projected(right, weight, place, slope)
    before, after = torch.from_numpy(rng.normal(size=(2, rows, others, inputs)))[..., 0]
    inside = torch.from_numpy(rng.normal(size=(rows, inputs))) @ first / weight
    miss = torch.cat([before[:, :place], inside, after[:, place:]], 1)
    held = torch.from_numpy(rng.random((rows, numeric)) < 0.3)
    damping = torch.from_numpy(10 ** rng.uniform(-6, 1, rows))
    exact = {"rtol": 1e-5, "atol": 1e-7}
    torch.testing.assert_close(
        parts.step(miss, damping, (~held).double()), dense.step(miss, damping, (~held).double()), **exact
    )
    torch.testing.assert_close(parts.rest(miss[:, None]), dense.rest(miss[:, None]), **exact)
    for fixed in (None, held):
        known = torch.ones_like(held) if fixed is None else ~held
        torch.testing.assert_close(parts.errors(fixed)[known], dense.errors(fixed)[known], **exact)


def test_more_numbers_than_equations_are_solved_by_projection() -> None:
    observation, x = a_table(90, (3, 4), 4)
    plain = view_of(observation)
    with all_wide():
        wide = view_of(observation)
    codes = torch.stack([x[:, block].argmax(1) for block in plain.space.layout.blocks], 1)
    start = x[:, :90] + 0.1 * torch.randn(4, 90, generator=torch.Generator().manual_seed(0)).double()
    assert isinstance(slopes_by_numbers(plain, codes, start)[1], Dense)
    assert isinstance(slopes_by_numbers(wide, codes, start)[1], Projected)
    one, other = (misses(view, view.rows_of(codes, start)).norm(dim=1) for view in (plain, wide))
    torch.testing.assert_close(one, other)
    torch.testing.assert_close(polish(wide, codes, start), polish(plain, codes, start), rtol=0, atol=1e-5)
    true = x[:, :90]
    torch.testing.assert_close(
        number_errors(wide, codes, true), number_errors(plain, codes, true), rtol=1e-4, atol=1e-6
    )


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**9))
def test_open_directions_are_those_of_the_complement(seed: int) -> None:
    rng = np.random.default_rng(seed)
    inputs, rows = int(rng.integers(3, 20)), int(rng.integers(1, 8))
    numeric = int(rng.integers(1, inputs + 1))
    gradient = torch.from_numpy(rng.normal(size=(30, rows)) @ rng.normal(size=(rows, inputs)))
    each = span_of(gradient, rows, 1e-12)
    assert each.outside is not None
    values = torch.linalg.svdvals(each.outside[:, :numeric])
    undetermined = numeric - int((values > 1e-3).sum())
    assert int((each.open_directions(numeric) <= 1e-3).sum()) == undetermined
    smallest = float(values[-1]) if len(values) == numeric else 0.0
    assert float(each.open_directions(numeric)[0]) == pytest.approx(smallest, abs=1e-7)


@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_layers_are_as_bent_as_seen_through_all_inputs(activation: str) -> None:
    learner = make_learner(MLP(width=24, depth=3, activation=activation), 60, (5,) * 12, "binary", 2, seed=0)
    x = torch.randn(4, 120, generator=torch.Generator().manual_seed(0))
    update = learner.gradient(learner.initial(), x, torch.tensor([0, 1, 1, 0]))
    view = view_of(
        Observation(
            learner=learner,
            space=Space(layout=Layout(60, (5,) * 12)),
            parameters=learner.initial(),
            update=update,
            exchange=Exchange(protocol="fedsgd", rows=4, batch_size=4),
        )
    )
    slow = bent.bent_of(view)
    with all_wide():
        quick = bent.bent_of(view)
    assert slow != quick
    for pairs in zip(slow, quick, strict=True):
        for one, other in zip(*pairs, strict=True):
            assert max(one, other) < 1e-9 or abs(math.log10(one / other)) < 0.1  # of a digit


def test_a_wide_table_is_read_whole() -> None:
    observation, x = a_table(1500, (12,) * 125, 6)
    claim = Exact()([observation], Streams(0))[0]  # a square matrix of the inputs for every step would take minutes
    assert claim.certified is not None
    assert claim.certified.all()
    assert claim.rows is not None
    distance = np.abs(claim.rows[:, None] - x.numpy()[None]).max(-1)
    assert sorted(distance.argmin(1)) == list(range(6))
    assert distance.min(1).max() < 1e-3
    assert isinstance(slopes_by_numbers(view_of(observation), torch.zeros(1, 125).long(), x[:1, :1500])[1], Projected)


def test_a_column_of_many_categories_is_searched_without_a_square_of_them() -> None:
    observation, x = a_table(3, (1200, 5, 7), 4)
    leaves = span_search(view_of(observation), 300_000)
    assert leaves.complete
    codes = {tuple(row) for row in leaves.codes.tolist()}
    blocks = observation.space.layout.blocks
    assert {tuple(int(row[block].argmax()) for block in blocks) for row in x} <= codes


def test_numbers_of_all_rows_are_settled_alike_by_conjugate_gradients() -> None:
    generator = torch.Generator().manual_seed(0)
    neurons, rows, numeric = 30, 4, 25
    weights, slope = (torch.randn(*shape, generator=generator).double() for shape in ((neurons, rows), (rows, numeric)))
    vectors = torch.randn(neurons, numeric + 9, rows, generator=generator).double()
    basis = torch.linalg.qr(vectors)[0][:, :numeric]
    for damping in (1e-6, 1e-2):
        one = zeros._step(weights, basis, slope, damping)
        other = zeros._iterated_step(weights, basis, slope, damping)
        torch.testing.assert_close(other, one, rtol=1e-6, atol=1e-8)


def test_sets_are_not_fitted_together_where_that_would_not_fit_into_memory() -> None:
    assert affordable(view_of(a_table(90, (3, 4), 4)[0]), 4)
    assert not affordable(view_of(a_table(1500, (3, 4), 4)[0]), 12)
