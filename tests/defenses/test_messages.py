"""Defences on the messages of vertical training."""

from __future__ import annotations

import math

import pytest
import torch

from seepage._core import InputError
from seepage.defenses import (
    Defense,
    GradientClipping,
    GradientNoise,
    IntermediateNoise,
    LabelSmoothing,
    PrivateMessages,
    Undefended,
)
from seepage.defenses.private_messages import gaussian_epsilon
from seepage.observation.parties import GRADIENT, INTERMEDIATE

VALUES = torch.linspace(-3, 3, 600).reshape(100, 6)


def changed(defense: Defense, kind: str, values: torch.Tensor = VALUES) -> torch.Tensor:
    return defense.in_message(kind, values, torch.Generator().manual_seed(0))


@pytest.mark.parametrize(
    ("defense", "kind"),
    [
        (IntermediateNoise(), INTERMEDIATE),
        (GradientNoise(), GRADIENT),
        (GradientClipping(), GRADIENT),
        (PrivateMessages(), INTERMEDIATE),
        (PrivateMessages(kind="gradients"), GRADIENT),
    ],
)
def test_each_works_on_one_kind_of_message(defense: Defense, kind: str) -> None:
    (other,) = {INTERMEDIATE, GRADIENT} - {kind}
    assert not torch.equal(changed(defense, kind), VALUES)
    assert torch.equal(changed(defense, other), VALUES)
    assert changed(defense, kind).shape == VALUES.shape


def test_undefended_messages_are_sent_as_they_are() -> None:
    assert torch.equal(changed(Undefended(), INTERMEDIATE), VALUES)
    assert torch.equal(changed(LabelSmoothing(), GRADIENT), VALUES)
    assert Undefended().smoothing == 0
    assert LabelSmoothing(share=0.3).smoothing == 0.3


def test_noise_has_the_deviation_it_says() -> None:
    noise = changed(IntermediateNoise(deviation=2.0), INTERMEDIATE) - VALUES
    assert 1.7 < float(noise.std()) < 2.3
    assert IntermediateNoise(deviation=2.0).noise_on(INTERMEDIATE) == 2.0
    assert PrivateMessages(clip=2.0, noise=3.0).noise_on(INTERMEDIATE) == 6.0
    relative = changed(GradientNoise(deviation=1.0), GRADIENT, 1e-4 * VALUES) - 1e-4 * VALUES
    assert 0.8e-4 * float(VALUES.std()) < float(relative.std()) < 1.2e-4 * float(VALUES.std())


def test_no_row_is_longer_than_the_bound_of_its_own_loss() -> None:
    lengths = changed(GradientClipping(norm=0.5), GRADIENT).norm(dim=1) * len(VALUES)
    assert float(lengths.max()) < 0.5 + 1e-5
    short = 1e-4 * VALUES
    assert torch.allclose(changed(GradientClipping(norm=10.0), GRADIENT, short), short)


def test_epsilon_grows_with_messages_and_falls_with_noise() -> None:
    def spent(noise: float, messages: int) -> float:
        return PrivateMessages(noise=noise).privacy(1.0, messages).epsilon

    assert spent(4.0, 1) < spent(4.0, 10) < spent(1.0, 10)
    assert spent(4.0, 4) == pytest.approx(spent(2.0, 1))  # four messages halve the multiplier
    assert spent(0.0, 1) == math.inf


def test_epsilon_is_that_of_the_gaussian_mechanism() -> None:
    """The exact epsilon lies below the classic bound sqrt(2 log(1.25 / delta)) / multiplier, and not far."""
    classic = math.sqrt(2 * math.log(1.25e5)) / 6.0
    assert 0.6 * classic < gaussian_epsilon(6.0, 1e-5) < classic


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: IntermediateNoise(deviation=-1), "must be 0 or above"),
        (lambda: GradientNoise(deviation=math.inf), "must be 0 or above"),
        (lambda: GradientClipping(norm=0), "must be above 0"),
        (lambda: LabelSmoothing(share=1), "from 0 to below 1"),
        (lambda: PrivateMessages(kind="labels"), "must be intermediates or gradients"),
        (lambda: PrivateMessages(clip=0), "The clip is 0"),
        (lambda: PrivateMessages(delta=1), "Delta is 1"),
    ],
)
def test_settings_that_cannot_be_are_one_sentence(make: object, said: str) -> None:
    with pytest.raises(InputError, match=said):
        make()  # type: ignore[operator]
