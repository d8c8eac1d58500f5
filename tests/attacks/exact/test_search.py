"""All valid rows of a span: the walk finds what trying every row finds."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

from seepage.attacks.exact import search
from seepage.attacks.exact.search import span_search
from seepage.attacks.exact.view import view_of
from seepage.data import Layout
from seepage.models import MLP, make_learner
from seepage.observation import Exchange, Observation, Space

SIZES = (3, 4, 2, 3)


def an_update(seed: int, rows: int) -> tuple[torch.Tensor, Observation]:
    draws = np.random.default_rng(seed)
    blocks = [np.eye(size)[draws.integers(0, size, rows)] for size in SIZES]
    x = torch.from_numpy(np.concatenate([draws.normal(size=(rows, 1)), *blocks], 1)).float()
    learner = make_learner(MLP(width=20, depth=2, norm="none"), 1, SIZES, "binary", 2, seed=seed)
    weights = learner.initial()
    update = learner.gradient(weights, x, torch.from_numpy(draws.integers(0, 2, rows)).float())
    return x, Observation(
        learner=learner,
        space=Space(layout=Layout(numeric=1, sizes=SIZES)),
        parameters=weights,
        update=update,
        exchange=Exchange(protocol="fedsgd", rows=rows, batch_size=rows),
    )


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("together", [3, 20_000])
def test_the_walk_finds_every_valid_row_of_the_span(seed: int, together: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "AT_ONCE", together)
    x, observation = an_update(seed, 6)
    view = view_of(observation)
    leaves = span_search(view, 10_000)
    assert leaves.complete
    span = view.entrance
    assert span is not None
    valid = set()
    for codes in itertools.product(*(range(size) for size in SIZES)):
        # The number is free: a row is in the span if some number puts it there.
        blocks = torch.cat([torch.eye(size)[code] for size, code in zip(SIZES, codes, strict=True)])
        fixed = torch.cat([torch.zeros(1), blocks, torch.ones(1)]).double()
        way = torch.zeros_like(fixed)
        way[0] = 1
        away, along = span.beyond(fixed[None])[0], span.beyond(way[None])[0]
        number = -(away @ along) / (along @ along).clamp(min=1e-12)
        if float((away + number * along).norm()) < 1e-3:
            valid.add(codes)
    assert {tuple(each) for each in leaves.codes.tolist()} == valid
    rows = {tuple(np.argmax(part) for part in np.split(row[1:], np.cumsum(SIZES)[:-1])) for row in x.numpy()}
    assert rows <= valid


def test_a_spent_budget_lists_nothing() -> None:
    _, observation = an_update(0, 6)
    leaves = span_search(view_of(observation), 5)
    assert not leaves.complete
    assert not len(leaves.codes)
    assert leaves.nodes > 5
