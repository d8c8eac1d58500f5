"""TabLeak as its authors run it."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

from seepage._core import InputError, Streams
from seepage.attacks.inversion import Inversion, inverting_gradients, tableak, tableak_paper, tableak_paper_no_softmax
from seepage.attacks.inversion.categories import StandardisedSoftmax
from seepage.attacks.inversion.optimisers import Adam
from seepage.attacks.inversion.pooling import SOFT_ROWS, RightCells
from seepage.data import Layout
from seepage.federation import Automatic, FedAvg, FedSGD, simulate
from seepage.observation import Knowledge, Observation, Space
from tests import cases

LAYOUT = Layout(1, (2, 3))
SHARES = torch.tensor([0.0, 0.9, 0.1, 0.5, 0.49, 0.01])
SPACE = Space(layout=LAYOUT, standardised=True, shift=SHARES, scale=(SHARES * (1 - SHARES)).sqrt().clamp(min=1e-3))


def observed() -> list[Observation]:
    protocol = FedSGD(batch_size=2, exposure=0, schedule=Automatic(keep=("initialized",)))
    population = cases.population("mlp", "binary", clients=2)
    trace = simulate(protocol, population, Knowledge(statistics=True), Streams(1))
    return list(trace.points[0].observations)


def test_logits_are_standardised_variables_in_raw_units() -> None:
    attack = Inversion(categories=StandardisedSoftmax())
    z = torch.tensor([0.3, 1.0, -2.0, 0.5, 0.1, 4.0])
    raw = attack.structure(SPACE, scaled=False)(z)
    assert SPACE.scale is not None
    logits = SPACE.scale * z + SHARES
    assert raw[1:3].tolist() == pytest.approx(logits[1:3].softmax(0).tolist(), rel=1e-5)
    assert raw[3:].tolist() == pytest.approx(logits[3:].softmax(0).tolist(), rel=1e-5)
    assert raw[0] == z[0]


def test_a_rare_category_hardly_moves() -> None:
    """A step as long in its variable moves it less than a frequent one."""
    start = torch.zeros(6)
    moved = [start.clone() for _ in range(2)]
    moved[0][3] = moved[1][5] = 1.0  # shares of 50 % and of 1 %
    ours, paper = (each.structure(SPACE, scaled=False) for each in (tableak(), tableak_paper()))
    common, rare = (float(abs(paper(z) - paper(start)).max()) for z in moved)
    assert rare < common / 3
    assert float(abs(ours(moved[1]) - ours(start)).max()) > 3 * rare


def test_the_last_iterate_is_kept_with_its_own_loss() -> None:
    """A step that is far too long gets worse; only the attack that keeps the last iterate is left with that."""
    rough = dataclasses.replace(
        inverting_gradients(), steps=40, optimiser=Adam(rate=1.0, schedule="constant", signed=True)
    )
    best = dataclasses.replace(rough, steps=41).runs(observed(), Streams(0))  # it has seen the last one too
    last = dataclasses.replace(rough, keep="last").runs(observed(), Streams(0))
    for one, other in zip(best, last, strict=True):
        assert (one.losses <= other.losses + 1e-9).all()
    assert any((one.rows != other.rows).any() for one, other in zip(best, last, strict=True))


def test_keep_takes_two_words() -> None:
    with pytest.raises(InputError, match="keep"):
        Inversion(keep="first")  # type: ignore[arg-type]


def test_right_cells_align_projected_rows_and_not_mixtures() -> None:
    one = np.array([[0.0, 0.6, 0.4, 1.0, 0.0, 0.0], [5.0, 0.0, 1.0, 0.0, 1.0, 0.0]])
    other = np.array([[5.2, 0.49, 0.51, 0.3, 0.4, 0.3], [0.1, 1.0, 0.0, 0.4, 0.3, 0.3]])
    cost = RightCells()(one, other, SPACE, raw=True)
    assert cost.tolist() == [[0, -3], [-3, 0]]
    assert SOFT_ROWS(one, other, SPACE, raw=True).shape == (2, 2)


def test_right_cells_know_ranges_and_whole_numbers() -> None:
    space = dataclasses.replace(
        SPACE, low=torch.tensor([0.0]), high=torch.tensor([1.0]), integers=torch.tensor([True]), scale=torch.ones(6)
    )
    one, other = np.zeros((1, 6)), np.zeros((1, 6))
    one[0, 0], other[0, 0] = 7.0, 0.6  # both are 1
    assert RightCells()(one, other, space, raw=True)[0, 0] == -3
    assert RightCells()(one, other, SPACE, raw=True)[0, 0] == -2


def test_free_blocks_are_told_in_raw_units() -> None:
    """Standardised inputs: the largest one is not the category that they stand for."""
    scale = SPACE.scale.numpy() if SPACE.scale is not None else np.ones(6)
    codes = np.array([[0.0, 1.0, 0.0, 0.0, 1.0, 0.0]])
    inputs = (codes - SHARES.numpy()) / scale
    inputs[0, 5] = 3.0  # three deviations of a rare category: 0.3 in raw units
    cost = RightCells()(inputs, (codes - SHARES.numpy()) / scale, SPACE, raw=False)
    assert cost[0, 0] == -3


def test_the_faithful_attack_runs_and_its_ablation_has_free_blocks() -> None:
    for attack in (tableak_paper(), tableak_paper_no_softmax()):
        short = dataclasses.replace(attack, steps=5, restarts=3)
        assert all(claim.rows is not None for claim in short(observed(), Streams(0)))


def test_an_attack_deals_known_labels_over_local_batches_itself() -> None:
    """They come sorted; as they are, one local batch would hold one class."""
    protocol = FedAvg(batch_size=4, local_rows=16, exposure=0, schedule=Automatic(keep=("initialized",)))
    trace = simulate(protocol, cases.population("mlp", "binary", clients=2), Knowledge(), Streams(1))
    observations = list(trace.points[0].observations)
    runs = dataclasses.replace(inverting_gradients(), steps=1).runs(observations, Streams(0))
    for run, observation in zip(runs, observations, strict=True):
        assert run.used is not None
        assert observation.labels is not None
        assert torch.equal(run.used.sort().values, observation.labels)
        assert not torch.equal(run.used, observation.labels)
