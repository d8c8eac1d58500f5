"""PRECODE: what is drawn hides the rows from whoever replays the model, and not from whoever reads the first layer."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch

from seepage._core import InputError, Streams
from seepage.attacks import Exact, RowsAttack, attacked
from seepage.attacks.adaptive import Adaptive
from seepage.attacks.inversion import fast
from seepage.data import IID, Encoder, split
from seepage.defenses import Precode
from seepage.federation import AttackPoint, Automatic, FedSGD, Truth, make_population, simulate
from seepage.models import MLP, Linear, make_learner
from seepage.models.bottleneck import Bottleneck
from seepage.observation import Claim, Knowledge
from tests import cases

KNOWN = Knowledge(labels=True, ranges=True, statistics=True)


@cache
def attack_point(defense: Precode, seed: int = 3) -> AttackPoint:
    table = cases.table(rows=200)
    encoder = Encoder(schema=table.schema)
    layout = encoder.layout
    learner = make_learner(MLP(width=24, norm="none"), layout.numeric, layout.sizes, "binary", 2, seed=5)
    streams = Streams(seed)
    splits = split(table, Streams(3).numpy("split"))
    population = make_population(
        splits, IID(clients=3), encoder, learner, Streams(3).numpy("partition"), local_statistics=False
    )
    protocol = FedSGD(batch_size=4, exposure=0, schedule=Automatic(keep=("initialized",)))
    return simulate(protocol, population, KNOWN, streams, defense=defense).points[0]


def rows_read(claim: Claim, truth: Truth) -> int:
    """True rows that the claim holds, every input within 0.02."""
    assert claim.rows is not None
    true = truth.encoder.encode(truth.rows, truth.statistics)
    return int((np.abs(claim.rows[:, None] - true[None]).max(-1) < 0.02).any(0).sum())


def all_read(attack: RowsAttack) -> int:
    point = attack_point(Precode(size=8))
    claims = attacked(attack, point.observations, Streams(2))
    return sum(rows_read(claim, truth) for claim, truth in zip(claims, point.truths, strict=True))


def test_who_reads_the_first_layer_reads_nearly_every_row_and_no_proof_is_wrong() -> None:
    exact = Exact(steps=30, restarts=2, compile="no")
    assert all_read(exact) >= 9
    point = attack_point(Precode(size=8))
    proven = 0
    for claim, truth in zip(attacked(exact, point.observations, Streams(2)), point.truths, strict=True):
        assert claim.rows is not None
        if claim.certified is not None:
            sure = replace(claim, rows=claim.rows[claim.certified])
            assert rows_read(sure, truth) == claim.certified.sum()
            proven += int(claim.certified.sum())
    assert proven >= 4


def test_who_replays_the_model_does_not_and_who_knows_the_defence_does() -> None:
    assert all_read(replace(fast(), steps=100, restarts=3, compile="no")) <= 3
    assert all_read(Adaptive(steps=30, restarts=2, compile="no")) >= 9


def test_draws_change_the_multiples_of_rows_and_not_their_span() -> None:
    point = attack_point(Precode(size=8))
    true = point.truths[0].encoder.encode(point.truths[0].rows, point.truths[0].statistics)
    rows = torch.from_numpy(true).double()
    assert point.observations[0].learner.has_noise
    first = next(value for name, value in point.observations[0].update.items() if name.endswith("weight"))
    solved = torch.linalg.lstsq(rows.T, first.double().T).solution
    torch.testing.assert_close(rows.T @ solved, first.double().T, rtol=1e-3, atol=1e-6)


def test_the_divergence_is_trained_against() -> None:
    one, other = (attack_point(Precode(size=8, weight=weight)).observations[0].update for weight in (0.0, 1.0))
    moved = {name for name in one if not torch.equal(one[name], other[name])}
    assert any(".mean." in name for name in moved)
    assert any(".spread." in name for name in moved)
    assert not any(".back." in name for name in moved)


def test_the_divergence_of_a_standard_normal_is_zero_and_the_mean_goes_on_where_nothing_is_trained() -> None:
    layer = Bottleneck(3, 2)
    for part in (layer.mean, layer.spread):
        torch.nn.init.zeros_(part.weight)
        torch.nn.init.zeros_(part.bias)
    rows = torch.ones(5, 3)
    layer(rows)
    assert layer.seen is not None
    assert layer.seen.item() == pytest.approx(0.0)
    torch.testing.assert_close(layer.eval()(rows), layer.back.bias.expand(5, 3))


def test_a_model_without_a_hidden_layer_is_refused() -> None:
    learner = make_learner(Linear(), 2, (3,), "binary", 2, seed=1)
    with pytest.raises(InputError, match="several linear layers"):
        Precode().model(learner, seed=0)
    for wrong, why in (({"size": 0}, "size is 0"), ({"weight": -1.0}, "weight of the divergence is -1")):
        with pytest.raises(InputError, match=why):
            Precode(**wrong)  # type: ignore[arg-type]
