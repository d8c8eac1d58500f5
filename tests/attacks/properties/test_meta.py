from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch

from seepage._core import InputError, Streams
from seepage.attacks.properties.losses import classes_of
from seepage.attacks.properties.meta import FittedMeta, MetaModel
from seepage.attacks.properties.readers import DeepSets, Paths, Reader
from seepage.models.stack import Stack
from seepage.results.property_score import calibration_error, property_score, share_score
from tests.attacks.properties.shadows import permuted, random_stack, shadows, trained_shadows

QUICK = MetaModel(epochs=8, rate=1e-2, batch_size=32, patience=8)


def fitted(settings: MetaModel = QUICK, classes: int = 4, count: int = 300, seed: int = 0) -> FittedMeta:
    return settings.fit(*shadows(count), classes=classes, streams=Streams(seed))


@pytest.mark.parametrize("loss", ["nll", "interval", "sor", "coral", "corn", "share"])
def test_every_loss_beats_guessing_on_models_it_has_not_seen(loss: str) -> None:
    meta = fitted(replace(QUICK, loss=loss))
    targets, shares = shadows(150, 1)
    guess, truth = meta.predict(targets), classes_of(shares, 4)
    score = property_score(truth.numpy(), guess.classes.numpy(), 4)
    assert score.accuracy.low is not None
    assert score.accuracy.low > max(score.chance, score.most_frequent)
    assert score.mse.mean < score.middle_mse
    assert guess.probabilities.shape == (150, 4)
    sure = guess.probabilities.max(1)
    assert calibration_error(sure.values.numpy(), (sure.indices == truth).numpy()) < 0.2
    assert (guess.shares is None) == (loss not in ("interval", "share"))


def test_the_share_is_read_from_models_that_were_trained() -> None:
    meta = replace(QUICK, epochs=25).fit(*trained_shadows(300), classes=2, streams=Streams(0))
    targets, shares = trained_shadows(100, 1)
    score = property_score(classes_of(shares, 2).numpy(), meta.predict(targets).classes.numpy(), 2)
    assert score.accuracy.low is not None
    assert score.accuracy.low > max(score.chance, score.most_frequent)


@pytest.mark.parametrize("reader", [DeepSets(), Paths()], ids=["deepsets", "paths"])
def test_likelihood_does_not_collapse_to_one_class_of_ten(reader: Reader) -> None:
    meta = fitted(replace(QUICK, reader=reader, epochs=15), classes=10)
    targets, shares = shadows(150, 1)
    guess, truth = meta.predict(targets), classes_of(shares, 10)
    assert len(guess.classes.unique()) >= 5
    score = property_score(truth.numpy(), guess.classes.numpy(), 10)
    assert score.accuracy.low is not None
    assert score.accuracy.low > max(score.most_frequent, score.chance)


def test_intervals_hold_the_share_as_often_as_they_say() -> None:
    targets, shares = shadows(300, 2)
    for coverage in (0.5, 0.9):
        guess = fitted(replace(QUICK, loss="share", calibration=0.3, coverage=coverage)).predict(targets)
        assert guess.shares is not None
        assert guess.low is not None
        assert guess.high is not None
        score = share_score(*(each.double().numpy() for each in (shares, guess.shares, guess.low, guess.high)))
        assert abs(score.coverage.mean - coverage) < 0.1
        assert score.error.mean < score.middle_error


def test_too_few_shadows_for_a_coverage_give_the_whole_range() -> None:
    meta = fitted(replace(QUICK, loss="share", epochs=1), count=20)
    guess = meta.predict(shadows(5, 1)[0])
    assert math.isinf(meta.reach)
    assert guess.low is not None
    assert guess.high is not None
    assert guess.low.tolist() == [0] * 5
    assert guess.high.tolist() == [1] * 5


def test_the_same_seed_gives_the_same_answer_and_the_order_of_neurons_does_not_change_it() -> None:
    targets = shadows(20, 1)[0]
    one, two, other = (fitted(seed=seed).predict(targets).probabilities for seed in (0, 0, 1))
    assert torch.equal(one, two)
    assert not torch.equal(one, other)
    moved = fitted().predict(permuted(targets, torch.Generator().manual_seed(0)))
    assert torch.allclose(one, moved.probabilities, atol=1e-5)


def test_the_weights_with_the_lowest_validation_loss_are_kept_and_training_stops_early() -> None:
    told: list[str] = []

    def listen(label: str, done: int, total: int, note: str = "") -> None:
        told.append(f"{label} {done}/{total} {note}")

    settings = replace(QUICK, epochs=60, rate=0.05, patience=3)
    stack, shares = shadows(300)
    meta = settings.fit(stack, shares, classes=4, streams=Streams(0), progress=listen)
    validation = [now for _, now in meta.course]
    best = validation.index(min(validation))
    assert len(validation) == best + 1 + 3 < 60
    assert len(told) == len(validation)
    assert f"best {validation[best]:.4f}" in told[-1]


def test_the_cut_has_every_range_in_each_part_and_no_shadow_twice() -> None:
    shares = shadows(400)[1]
    train, validation, calibration = QUICK._cut(shares, Streams(0))
    assert sorted(torch.cat([train, validation, calibration]).tolist()) == list(range(400))
    assert (len(validation), len(calibration)) == (40, 40)
    assert all(len(classes_of(shares[part], 10).unique()) == 10 for part in (train, validation, calibration))


def test_a_step_that_is_not_finite_is_left_out_and_a_constant_weight_does_no_harm() -> None:
    stack, shares = shadows(60)
    huge = [weight.clone() for weight in stack.weights]
    huge[0][0] = 1e30
    huge[1][:, 0, 0] = 0.5
    meta = QUICK.fit(Stack(tuple(huge), stack.biases), shares, classes=2, streams=Streams(0))
    assert bool(meta.predict(stack).probabilities.isfinite().all())


def test_models_of_another_architecture_are_refused() -> None:
    meta, own = fitted(replace(QUICK, epochs=1), count=60), shadows(5, 1)[0]
    other = random_stack(3, (4, 5, 3, 2), torch.Generator().manual_seed(0))
    with pytest.raises(InputError, match="widths 4-5-3-2, the shadow models 4-4-3-2; they must be equal"):
        meta.predict(other)
    with pytest.raises(InputError, match="no target model"):
        meta.predict(own.take(torch.arange(0)))
    broken = [weight.clone() for weight in own.weights]
    broken[0][2] = torch.nan
    with pytest.raises(InputError, match=r"1 target model\(s\) have weights that are not finite"):
        meta.predict(Stack(tuple(broken), own.biases))


def test_shadows_that_cannot_be_learnt_from_are_refused() -> None:
    stack, shares = shadows(60)

    def fit(stack: Stack, shares: torch.Tensor, classes: int) -> None:
        QUICK.fit(stack, shares, classes=classes, streams=Streams(0))

    with pytest.raises(InputError, match="1 class; at least 2"):
        fit(stack, shares, 1)
    with pytest.raises(InputError, match="outside 0 to 1"):
        fit(stack, shares + 0.5, 4)
    with pytest.raises(InputError, match="outside 0 to 1"):
        fit(stack, shares * torch.nan, 4)
    with pytest.raises(InputError, match="12 shadow models for 20 classes; at least 20"):
        fit(stack.take(torch.arange(12)), shares[:12], 20)
    with pytest.raises(InputError, match="5 shadow models for 2 classes; at least 10"):
        fit(stack.take(torch.arange(5)), shares[:5], 2)
    with pytest.raises(InputError, match=r"between 0\.50 and 0\.75; each of the 4 classes"):
        fit(stack, torch.where((shares >= 0.5) & (shares < 0.75), 0.1, shares), 4)
    with pytest.raises(InputError, match="60 shadow models, but the shares have the shape"):
        fit(stack, shares[:10], 4)
    with pytest.raises(InputError, match="shadow model"):
        fit(Stack((stack.weights[0] / 0, *stack.weights[1:]), stack.biases), shares, 4)


def test_bad_settings_are_one_sentence() -> None:
    with pytest.raises(InputError, match="Did you mean 'coral'"):
        MetaModel(loss="corals")
    with pytest.raises(InputError, match="at least 1"):
        MetaModel(epochs=0)
    with pytest.raises(InputError, match="at least 1"):
        MetaModel(hidden=(0,))
    with pytest.raises(InputError, match="The rate is 0"):
        MetaModel(rate=0)
    with pytest.raises(InputError, match="together they may take a half"):
        MetaModel(validation=0.4, calibration=0.4)
    with pytest.raises(InputError, match="coverage"):
        MetaModel(coverage=1.0)
