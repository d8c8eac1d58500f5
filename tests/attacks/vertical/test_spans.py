"""Rows from the spans of batches, while the model trains and while it does not."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from seepage._core import NotApplicable, Outcome, Streams
from seepage.attacks.vertical.intersect import common
from seepage.attacks.vertical.one_by_one import OneByOne
from seepage.attacks.vertical.spans import Spans
from seepage.data import Layout
from seepage.defenses import GaussianNoise, HiddenIds
from seepage.federation.vertical.shared import SharedLayers
from seepage.models import Learner, scoped_randomness
from seepage.observation import Claim, Space
from seepage.observation.vertical import VerticalScene, VerticalUpdate

NUMBERS, SIZES = 6, (5, 4, 3, 7, 3, 4, 6)


def people(count: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    blocks = [torch.eye(size)[torch.randint(size, (count,), generator=generator)] for size in SIZES]
    x = torch.cat([torch.randn(count, NUMBERS, generator=generator), *blocks], 1)
    return x, torch.randint(0, 2, (count,), generator=generator)


def world(count: int, batch: int, *, neurons: int = 40, bias: bool = True, seed: int = 0) -> VerticalScene:
    width = NUMBERS + sum(SIZES)
    with scoped_randomness(seed):
        net = nn.Sequential(
            nn.Linear(width, neurons, bias=bias), nn.ReLU(), nn.Linear(neurons, 20), nn.ReLU(), nn.Linear(20, 2)
        )
    layout = Layout(NUMBERS, SIZES)
    learner = Learner(net, "multiclass")
    return VerticalScene(learner=learner, rows=count, batch_size=batch, space=Space(layout=layout), fixed=False)


def claimed(scene: VerticalScene, seen: list[VerticalUpdate], attack: Spans | OneByOne | None = None) -> Claim:
    attacker = (attack or Spans()).start(scene, Streams(0))
    for update in seen:
        attacker.see(update)
    (claim,) = attacker.claims()
    return claim


def watched(scene: VerticalScene, x: Tensor, y: Tensor, batches: int, **options: float) -> list[VerticalUpdate]:
    protocol = SharedLayers(batch_size=scene.batch_size, **options)  # type: ignore[arg-type]
    return list(protocol.stream(scene.learner, x, y, batches, Streams(1)))


@pytest.mark.parametrize("options", [{}, {"rate": 0.1}, {"rate": 1e-3, "adam": True}])
@pytest.mark.parametrize("bias", [True, False])
def test_everyone_in_a_few_batches_is_read_whatever_trains_the_model(options: dict[str, float], bias: bool) -> None:
    """Half a batch for each person, which is half of what CAFE's first step needs."""
    x, y = people(80)
    scene = world(80, 8, bias=bias)
    claim = claimed(scene, watched(scene, x, y, 40, **options))
    assert claim.rows is not None
    assert claim.determined is not None
    assert claim.certified is not None
    assert claim.certified.mean() > 0.75  # the others are in one or two batches
    right = np.abs(claim.rows - x.numpy()).max(1) < 1e-2
    assert right[claim.certified].all()
    assert (claim.rows[~claim.determined] == 0).all()
    assert claim.ordered
    assert "certified" in claim.note


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10**6), batch=st.integers(3, 30), batches=st.integers(5, 60))
@pytest.mark.slow
def test_what_is_certified_is_right(seed: int, batch: int, batches: int) -> None:
    """Also where batches span nearly everything, or people are in few of them."""
    x, y = people(60, seed)
    scene = world(60, batch, seed=seed)
    claim = claimed(scene, watched(scene, x, y, batches, rate=0.05))
    if claim.rows is not None and claim.certified is not None:
        assert np.abs(claim.rows - x.numpy())[claim.certified].max(initial=0) < 0.1


def test_a_layer_narrower_than_the_batch_spans_no_row_and_the_note_says_so() -> None:
    x, y = people(60)
    scene = world(60, 20, neurons=12)
    claim = claimed(scene, watched(scene, x, y, 80))
    assert claim.outcome is Outcome.NOT_APPLICABLE
    assert "12 neurons, too few to span a batch of 20 rows" in claim.note


def test_noise_is_named() -> None:
    x, y = people(60)
    scene = world(60, 6)
    noisy = SharedLayers(batch_size=6).stream(
        scene.learner, x, y, 60, Streams(1), defense=GaussianNoise(deviation=1e-3)
    )
    claim = claimed(scene, list(noisy))
    assert claim.outcome is Outcome.NOT_APPLICABLE
    assert "there is noise in it, or it is not the true one" in claim.note


def test_a_batch_with_more_rows_than_independent_inputs_tells_only_categories() -> None:
    x, y = people(120)
    scene = world(120, 60, neurons=100)
    claim = claimed(scene, watched(scene, x, y, 12))
    assert claim.outcome is Outcome.NOT_APPLICABLE
    assert "tells spans only which categories are there" in claim.note


def test_without_bias_and_categories_a_direction_is_no_row() -> None:
    with scoped_randomness(0):
        learner = Learner(nn.Sequential(nn.Linear(5, 8, bias=False), nn.ReLU(), nn.Linear(8, 2)), "multiclass")
    scene = VerticalScene(learner=learner, rows=20, batch_size=3, space=Space(layout=Layout(5, ())))
    with pytest.raises(NotApplicable, match="no scale"):
        Spans().start(scene)


def test_spans_that_lack_the_direction_are_outvoted() -> None:
    generator = torch.Generator().manual_seed(0)
    row = torch.randn(1, 30, generator=generator)
    holding = [torch.cat([row, torch.randn(5, 30, generator=generator)]) for _ in range(6)]
    lacking = [torch.randn(6, 30, generator=generator) for _ in range(3)]
    spans = [torch.linalg.qr(matrix.T)[0].T for matrix in (*holding, *lacking)]
    found = common(spans)
    assert found.sure
    assert abs(float((found.direction @ row[0]) / row.norm())) > 1 - 1e-5
    assert not common([*spans[:1], *spans[6:]]).sure


def test_hidden_ids_hide_whose_rows_they_are_and_not_the_rows() -> None:
    x, y = people(24)
    scene = world(24, 4)
    protocol = SharedLayers(batch_size=4)
    seen = list(protocol.stream(scene.learner, x, y, 60, Streams(1), defense=HiddenIds()))
    by_ids = claimed(scene, seen)
    assert by_ids.rows is None or not np.asarray(by_ids.certified).any()
    claim = claimed(scene, seen, OneByOne(batches=10))
    assert claim.rows is not None
    assert claim.certified is not None
    assert not claim.ordered
    proven = claim.rows[claim.certified]
    far = np.abs(proven[:, None] - x.numpy()[None]).max(2).min(1)
    assert len(proven) >= 12
    assert far.max() < 1e-2
    assert "whose they are was not asked" in claim.note
