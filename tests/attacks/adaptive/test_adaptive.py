"""The attacker who knows the defence, against the one who does not and against guessing."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch

from seepage._core import InputError, Outcome, Streams
from seepage.attacks import RowsAttack, attacked
from seepage.attacks.adaptive import Adaptive
from seepage.attacks.adaptive.attack import LOST
from seepage.attacks.adaptive.posterior import draw
from seepage.attacks.inversion import fast
from seepage.attacks.inversion.objectives import Received
from seepage.data import IID, Encoder, split
from seepage.defenses import Defense, GaussianNoise, LabelSmoothing, Mixup, Quantisation, RandomK, TopK, Undefended
from seepage.federation import AttackPoint, Automatic, FedSGD, make_population, simulate
from seepage.metrics import Evaluator, Reference
from seepage.models import MLP, make_learner
from seepage.observation import Knowledge
from seepage.results import ALL_COLUMNS, ATTACK, BASELINES, Measure
from seepage.testing import tiny_observations
from tests import cases

KNOWN = Knowledge(labels=True, ranges=True, statistics=True)
ADAPTIVE = Adaptive(steps=60, restarts=4, chains=4, sweeps=12, compile="no")
NAIVE = replace(fast(), steps=60, restarts=4, compile="no")


@cache
def attack_point(defense: Defense, rows: int = 4) -> tuple[AttackPoint, Reference]:
    """Updates of clients whose statistics are known, before any training."""
    table = cases.table(rows=200)
    encoder = Encoder(schema=table.schema, standardise_onehot=True)
    layout = encoder.layout
    learner = make_learner(
        MLP(width=24, depth=2, activation="relu", norm="none"), layout.numeric, layout.sizes, "binary", 2, seed=5
    )
    streams = Streams(3)
    splits = split(table, streams.numpy("split"))
    population = make_population(
        splits, IID(clients=3), encoder, learner, streams.numpy("partition"), local_statistics=False
    )
    protocol = FedSGD(batch_size=rows, exposure=0, schedule=Automatic(keep=("initialized",)))
    trace = simulate(protocol, population, KNOWN, streams, defense=defense)
    return trace.points[0], Reference.of(splits.train)


def shares(attack: RowsAttack, defense: Defense) -> tuple[float, float]:
    """The share of cells read, and what the best guess gets."""
    point, whole = attack_point(defense)
    evaluator = Evaluator(training=whole, deviation="global")
    claims = attacked(attack, point.observations, Streams(2))
    values = [
        evaluator(claim, truth, KNOWN, np.random.default_rng(place))
        for place, (claim, truth) in enumerate(zip(claims, point.truths, strict=True))
    ]
    read = np.mean([each[Measure(ATTACK, ALL_COLUMNS, "accuracy")] for each in values])
    guesses = [np.mean([each[Measure(name, ALL_COLUMNS, "accuracy")] for each in values]) for name in BASELINES]
    return float(read), float(max(guesses))


@pytest.mark.parametrize(
    "defense",
    [
        GaussianNoise(deviation=0.02),
        pytest.param(RandomK(share=0.3), marks=pytest.mark.slow),
        pytest.param(TopK(share=0.2), marks=pytest.mark.slow),
        pytest.param(Quantisation(bits=3), marks=pytest.mark.slow),
    ],
    ids=lambda each: type(each).__name__,
)
def test_who_knows_the_defence_reads_no_less(defense: Defense) -> None:
    knowing, _ = shares(ADAPTIVE, defense)
    naive, _ = shares(NAIVE, defense)
    assert knowing >= naive - 0.05


def test_noise_that_hides_everything_leaves_the_best_guess() -> None:
    knowing, guess = shares(ADAPTIVE, GaussianNoise(deviation=5.0))
    assert knowing >= guess - 0.1


def test_without_a_defence_it_is_fast() -> None:
    point, _ = attack_point(Undefended())
    claims = attacked(replace(ADAPTIVE, restarts=3), point.observations[:2], Streams(2))
    plain = replace(NAIVE, restarts=3)(point.observations[:2], Streams(2).child(0, 0))
    for one, other in zip(claims, plain, strict=True):
        np.testing.assert_array_equal(one.rows, other.rows)


def test_chains_that_explain_nothing_leave_the_answer_of_the_blind_attack(monkeypatch: pytest.MonkeyPatch) -> None:
    observations = tiny_observations(defense=TopK(share=0.2))
    blind = NAIVE(observations, Streams(2).child(0, 0).child("blind"))
    monkeypatch.setattr("seepage.attacks.adaptive.attack.LOST", -1.0)
    for one, other in zip(attacked(ADAPTIVE, observations, Streams(2)), blind, strict=True):
        np.testing.assert_array_equal(one.rows, other.rows)


def test_noise_is_explained_by_the_true_rows_and_what_no_rows_send_is_not() -> None:
    point, _ = attack_point(GaussianNoise(deviation=0.02))
    observation, truth = point.observations[0], point.truths[0]
    true = truth.encoder.encode(truth.rows, truth.statistics)[None].astype(np.float32)
    labels = torch.from_numpy(truth.rows.target)
    huge = replace(observation, update={name: 100 * value for name, value in observation.update.items()})
    sent, never = (
        draw([each], [(true, labels)], [0.0], Streams(1), sweeps=4)[0].unexplained for each in (observation, huge)
    )
    assert sent < LOST < never


def test_of_mixed_rows_the_answer_that_comes_nearer_to_the_update_is_kept() -> None:
    point, _ = attack_point(Mixup())
    blind = NAIVE(point.observations, Streams(2).child(0, 0).child("blind"))
    for one, other in zip(attacked(ADAPTIVE, point.observations, Streams(2)), blind, strict=True):
        assert one.loss is not None
        assert other.loss is not None
        assert one.loss <= other.loss


LOCAL = ("gaussian_noise", "laplace", "random_k", "sign", "label_smoothing", "mixup")  # one for each way to answer


@pytest.mark.parametrize(
    ("name", "protocol"), [*((name, "fedsgd") for name in cases.DEFENSES), *((name, "fedavg") for name in LOCAL)]
)
def test_every_defence_has_an_answer(name: str, protocol: str) -> None:
    observations = tiny_observations(protocol=protocol, defense=cases.DEFENSES[name])
    quick = Adaptive(steps=3, restarts=2, chains=2, sweeps=4, compile="no")
    for claim, observation in zip(attacked(quick, observations, Streams(1)), observations, strict=True):
        assert claim.outcome.scored, claim.note
        assert claim.rows is not None
        assert claim.rows.shape == (observation.exchange.rows, observation.layout.width)
        assert np.isfinite(claim.rows).all()
        assert claim.certified is None  # it proves nothing


@pytest.mark.parametrize("defense", [GaussianNoise(deviation=0.01), LabelSmoothing(), Mixup()])
def test_labels_need_not_be_known(defense: Defense) -> None:
    observations = tiny_observations(defense=defense, knowledge=Knowledge(labels=False))
    quick = Adaptive(steps=3, restarts=2, chains=2, sweeps=4, compile="no")
    for claim in attacked(quick, observations, Streams(1)):
        assert claim.outcome.scored
        assert claim.labels is not None
        assert set(claim.labels.tolist()) <= {0, 1}


def test_an_update_of_zeros_says_nothing() -> None:
    first, second = tiny_observations(defense=RandomK(share=0.5))
    silent = replace(first, update={name: torch.zeros_like(value) for name, value in first.update.items()})
    quick = Adaptive(steps=2, restarts=2, chains=2, sweeps=4, compile="no")
    zero, other = attacked(quick, [silent, second], Streams(1))
    assert zero.outcome is Outcome.NOT_APPLICABLE
    assert other.rows is not None


def test_the_channel_is_what_the_server_may_know() -> None:
    one, other = tiny_observations(defense=cases.DEFENSES["dp_fedavg"])
    assert one.exchange.channel == cases.DEFENSES["dp_fedavg"].channel()
    assert one.exchange == other.exchange  # no random numbers are in it, so that updates are attacked together
    assert hash(one.exchange) == hash(other.exchange)
    for name, defense in cases.DEFENSES.items():
        assert defense.channel().plain == (name == "none")


def test_entries_that_were_not_sent_do_not_count() -> None:
    draw = torch.Generator().manual_seed(1)
    sent = {"w": torch.randn(1, 3, 4, generator=draw)}
    sent["w"][0, 1] = 0.0
    simulated = {"w": 2 * sent["w"][:, None] + torch.tensor([0.0, 7.0, 0.0])[:, None]}
    assert float(Received()(simulated, sent)) == pytest.approx(0.0, abs=1e-6)
    signs = {"w": sent["w"].sign()}
    assert float(Received(signs=True)(simulated, signs)) == pytest.approx(0.0, abs=1e-6)
    assert float(Received(signs=True)({"w": -simulated["w"]}, signs)) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize(("name", "value"), [("steps", 0), ("restarts", 0), ("chains", 1), ("sweeps", 3)])
def test_bad_settings_are_told_in_a_sentence(name: str, value: int) -> None:
    with pytest.raises(InputError, match=f"{name} is {value}; it must be at least"):
        replace(ADAPTIVE, **{name: value})


def test_rows_of_several_models_are_drawn_model_by_model() -> None:
    one, other = tiny_observations(defense=GaussianNoise(deviation=0.01))
    moved = replace(other, parameters={name: value + 0.01 for name, value in other.parameters.items()})
    quick = Adaptive(steps=2, restarts=2, chains=2, sweeps=4, compile="no")
    claims = attacked(quick, [one, moved], Streams(1))
    assert [claim.rows.shape for claim in claims if claim.rows is not None] == [(3, one.layout.width)] * 2
