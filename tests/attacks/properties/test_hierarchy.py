from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from seepage._core import InputError, Streams
from seepage.attacks.properties.hierarchy import FittedHierarchy, Hierarchy
from seepage.attacks.properties.losses import classes_of
from seepage.attacks.properties.meta import MetaModel
from seepage.results.property_score import property_score
from tests.attacks.properties.shadows import random_stack, shadows

QUICK = MetaModel(epochs=8, rate=1e-2, batch_size=32, patience=8)


def fitted(loss: str = "nll", rough: int = 2, fine: int = 3) -> FittedHierarchy:
    meta = replace(QUICK, loss=loss)
    settings = Hierarchy(rough=meta, fine=meta, rough_classes=rough, fine_classes=fine)
    return settings.fit(*shadows(400), streams=Streams(0))


@pytest.mark.parametrize("loss", ["nll", "sor", "share"])
def test_two_steps_beat_guessing(loss: str) -> None:
    targets, shares = shadows(150, 1)
    guess = fitted(loss).predict(targets)
    score = property_score(classes_of(shares, 6).numpy(), guess.classes.numpy(), 6)
    assert score.accuracy.low is not None
    assert score.accuracy.low > max(score.chance, score.most_frequent)
    assert guess.probabilities.shape == (150, 6)
    assert torch.allclose(guess.probabilities.sum(1), torch.ones(150), atol=1e-5)
    assert guess.low is None
    if loss == "share":
        assert guess.shares is not None
        assert torch.equal(classes_of(guess.shares, 6), guess.classes)


def test_a_target_goes_to_the_meta_model_of_its_rough_class() -> None:
    targets, made = shadows(50, 1)[0], fitted(rough=3, fine=2)
    first, second = made.rough.predict(targets).classes, [each.predict(targets).classes for each in made.fine]
    expected = [int(way) * 2 + int(second[int(way)][target]) for target, way in enumerate(first)]
    assert made.predict(targets).classes.tolist() == expected


def test_finer_meta_models_learn_from_the_shadows_of_their_range_only(monkeypatch: pytest.MonkeyPatch) -> None:
    stack, shares = shadows(400)
    seen: list[tuple[int, float, float]] = []
    fit = MetaModel.fit

    def watched(self: MetaModel, stack, shares, **more):  # type: ignore[no-untyped-def]
        seen.append((len(stack), float(shares.min()), float(shares.max())))
        return fit(self, stack, shares, **more)

    monkeypatch.setattr(MetaModel, "fit", watched)
    settings = Hierarchy(rough=replace(QUICK, epochs=1), fine=replace(QUICK, epochs=1), rough_classes=4, fine_classes=5)
    assert settings.classes == 20
    settings.fit(stack, shares, streams=Streams(0))
    assert [count for count, _, _ in seen] == [400, *torch.bincount(classes_of(shares, 4)).tolist()]
    assert all(low < 0.1 and high > 0.9 for _, low, high in seen[1:])  # each range is spread over 0 to 1


def test_progress_is_told() -> None:
    told: list[tuple[str, int, int]] = []
    settings = Hierarchy(rough=replace(QUICK, epochs=2), fine=replace(QUICK, epochs=1), rough_classes=2, fine_classes=2)
    settings.fit(
        *shadows(60), streams=Streams(0), progress=lambda label, done, total, note="": told.append((label, done, total))
    )
    assert told == [("hierarchy", 1, 3), ("hierarchy", 2, 3), ("hierarchy", 3, 3)]


def test_bad_input_is_one_sentence() -> None:
    with pytest.raises(InputError, match="1 rough and 5 finer classes; each must be at least 2"):
        Hierarchy(rough_classes=1)
    with pytest.raises(InputError, match="15 shadow models for 20 classes"):
        Hierarchy().fit(*(shadows(60)[0].take(torch.arange(15)), shadows(60)[1][:15]), streams=Streams(0))
    with pytest.raises(InputError, match="they must be equal"):
        fitted(rough=2, fine=2).predict(random_stack(2, (4, 2), torch.Generator().manual_seed(0)))
