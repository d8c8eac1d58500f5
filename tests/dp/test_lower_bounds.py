"""The measured bound stays below the truth where that is known, and goes above the claim where noise is missing."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy.stats import binom

from seepage._core import InputError, Streams
from seepage.dp import lower_bounds
from seepage.dp.canaries import Audited, Training, audit_rows
from seepage.dp.lower_bounds import chance_of, many_runs_bound, one_run, one_run_bound, share_bounds
from seepage.dp.measuring import measure
from seepage.dp.mechanisms import Gaussian, Laplace, Mechanism, NoGuarantee, Pure, Sampled
from seepage.models import Linear, make_learner

DELTA = 1e-5
ALLOWED = 18  # of 200 runs at 95 %: more than that has a chance of 1 in 100 even if every run errs with 5 %


def one_gaussian_run(noise: float, seed: int, canaries: int = 1000) -> float:
    """Canaries with gradients that do not overlap, each in by a coin, and Gaussian noise on their sum."""
    draw = np.random.default_rng(seed)
    coins = draw.random(canaries) < 0.5
    return one_run(coins + noise * draw.normal(size=canaries), coins, DELTA)[0]


@pytest.mark.parametrize("noise", [0.5, 1.0, 4.0])
def test_one_run_stays_below_the_accountant(noise: float) -> None:
    truth = Gaussian(noise=noise, sensitivity=1.0).epsilon(DELTA)
    bounds = [one_gaussian_run(noise, seed) for seed in range(200)]
    assert sum(bound > truth for bound in bounds) <= ALLOWED
    assert max(bounds) > 0.1 * truth or noise == 4.0


def test_one_run_stays_below_where_the_theorem_is_tight() -> None:
    """Randomised response: each guess is right with exactly the largest chance that epsilon allows."""
    draw, epsilon, above = np.random.default_rng(5), 1.0, 0
    for _ in range(200):
        right = int(draw.binomial(500, 1 / (1 + math.exp(-epsilon))))
        above += one_run_bound(500, 500, right, 0.0) > epsilon
    assert above <= ALLOWED
    assert one_run_bound(500, 500, 500, 0.0) > 4


@pytest.mark.slow
@pytest.mark.parametrize("steps", [1, 20])
@pytest.mark.parametrize("noise", [0.3, 0.5, 1.0, 2.0, 4.0])
def test_two_hundred_runs_of_both_ways_stay_below(noise: float, steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seepage.dp.measuring.RUNS", 100_000)
    mechanism = Gaussian(noise=noise, sensitivity=1.0, releases=steps)
    truth = mechanism.epsilon(DELTA)
    one = [one_gaussian_run(noise / math.sqrt(steps), seed, 5000) for seed in range(200)]
    assert sum(bound > truth for bound in one) <= ALLOWED
    many = [measure(mechanism, DELTA, np.random.default_rng(seed)) for seed in range(200)]
    assert sum(found is not None and found.epsilon > truth for found in many) <= ALLOWED


def test_missing_noise_is_above_the_claim() -> None:
    claimed = Gaussian(noise=1.0, sensitivity=1.0).epsilon(DELTA)
    assert one_gaussian_run(1.0 / 10_000, seed=0) > claimed
    found = measure(Gaussian(noise=1.0 / 10_000, sensitivity=1.0), DELTA, np.random.default_rng(0))
    assert found is not None
    assert found.epsilon > max(10.0, claimed)


@pytest.mark.parametrize(
    "mechanism",
    [
        Gaussian(noise=1.0, sensitivity=1.0),
        Gaussian(noise=5.0, sensitivity=1.0, releases=30),
        Laplace(scale=1.0, sensitivity=1.0, releases=3),
        Sampled(multiplier=1.0, rate=0.2, steps=40),
    ],
)
def test_mechanisms_played_many_times_lie_between(mechanism: Mechanism, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seepage.dp.measuring.RUNS", 100_000)
    found = measure(mechanism, DELTA, np.random.default_rng(1))
    assert found is not None
    assert 0.3 * mechanism.epsilon(DELTA) < found.epsilon < mechanism.epsilon(DELTA)


def test_what_cannot_be_played_is_not_measured() -> None:
    assert measure(Pure(each=1.0), DELTA, np.random.default_rng(0)) is None
    assert measure(NoGuarantee(), DELTA, np.random.default_rng(0)) is None
    no_noise = measure(Gaussian(noise=0.0, sensitivity=1.0), DELTA, np.random.default_rng(0))
    assert no_noise is not None
    assert math.isinf(no_noise.epsilon)


def test_clopper_pearson_covers() -> None:
    for share in (0.01, 0.5, 0.93):
        chances = binom.pmf(range(41), 40, share)
        bounds = [share_bounds(right, 40) for right in range(41)]
        assert sum(c for c, (low, _) in zip(chances, bounds, strict=True) if low > share) <= 0.05
        assert sum(c for c, (_, high) in zip(chances, bounds, strict=True) if high < share) <= 0.05


def test_delta_can_only_lower_the_bound() -> None:
    bounds = [one_run_bound(1000, 100, 97, delta) for delta in (0.0, 1e-6, 1e-4, 1e-2, 0.5)]
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[0] > bounds[3] == 0.0
    assert chance_of(100, 10, 0, 1.0, 1e-5) == 1.0
    assert many_runs_bound(0, 10, 0, 10, 0.0) == 0.0
    assert one_run(np.array([1.0]), np.array([True]), 0.0) == (0.0, 0, 0)


@pytest.mark.parametrize(("canaries", "guesses", "right"), [(10, 11, 5), (10, 5, 6), (0, 0, 0), (10, 5, -1)])
def test_impossible_counts_are_refused(canaries: int, guesses: int, right: int) -> None:
    with pytest.raises(InputError, match="cannot be"):
        one_run_bound(canaries, guesses, right, 0.0)
    with pytest.raises(InputError, match="cannot be right"):
        share_bounds(3, 2)


def trained(seed: int, *, rows: int = 300, canaries: int = 150, width: int = 60, **settings: float) -> Audited:
    """A linear model on random rows."""
    draw = Streams(seed).numpy("rows")
    x = torch.from_numpy(draw.normal(size=(rows, width)).astype("float32"))
    y = torch.from_numpy((draw.random(rows) < 0.5).astype("int64"))
    learner = make_learner(Linear(), width, (), "binary", 2, seed=seed)
    training = Training(**settings)  # type: ignore[arg-type]
    return audit_rows(learner, x, y, training, Streams(seed), canaries=canaries, delta=DELTA)


@pytest.mark.parametrize("batch_size", [300, 60])
def test_canaries_in_a_training_stay_below_the_accountant(batch_size: int) -> None:
    above = [
        found.lower > found.upper
        for found in (trained(s, batch_size=batch_size, noise=2.0, epochs=2) for s in range(8))
    ]
    assert sum(above) <= 3  # each with 5 %: four have a chance below 1 in 2,000


@pytest.mark.slow
@pytest.mark.parametrize(("batch_size", "noise"), [(300, 1.0), (300, 6.0), (60, 0.8), (60, 3.0)])
def test_canaries_in_two_hundred_trainings_stay_below(batch_size: int, noise: float) -> None:
    found = [trained(seed, batch_size=batch_size, noise=noise, epochs=3) for seed in range(200)]
    assert sum(each.lower > each.upper for each in found) <= ALLOWED


@pytest.mark.parametrize("batch_size", [300, 60])
def test_canaries_tell_a_training_with_too_little_noise(batch_size: int) -> None:
    found = trained(1, batch_size=batch_size, noise=8.0, epochs=2, lowered=10_000.0, canaries=80, width=400)
    assert found.lower > found.upper


def test_bad_trainings_are_refused() -> None:
    with pytest.raises(InputError, match="clip is 0"):
        Training(clip=0.0)
    with pytest.raises(InputError, match="noise multiplier is -1"):
        Training(noise=-1.0)
    with pytest.raises(InputError, match="300 canaries among 300 rows"):
        trained(0, canaries=300)


def test_the_largest_bound_is_far_above_what_guesses_can_show() -> None:
    assert one_run_bound(10**6, 10**6, 10**6, 0.0) < lower_bounds._LARGEST / 2
