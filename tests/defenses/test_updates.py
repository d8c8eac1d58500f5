"""Defences of whole updates: what they promise of every update, and what they refuse."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from seepage._core import InputError
from seepage.defenses import (
    Defense,
    DPFedAvg,
    FirstLayerWithheld,
    GradientPruning,
    LabelSmoothing,
    LocalDP,
    Mixup,
    RandomK,
    Rounding,
    Soteria,
    UpdateClipping,
)
from seepage.defenses.local_dp import multiplier_for
from seepage.defenses.private_messages import gaussian_epsilon
from seepage.models import Parameters
from seepage.models.smoothing import smoothed
from tests import cases

seeds = st.integers(0, 2**31)


def random(seed: int = 1) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def updates(seed: int = 7, scale: float = 1.0) -> Parameters:
    draw = random(seed)
    return {
        "0.weight": scale * torch.randn(3, 5, 4, generator=draw),
        "0.bias": scale * torch.randn(3, 5, generator=draw),
        "2.weight": scale * torch.randn(3, 2, 5, generator=draw),
    }


def flat(update: Parameters) -> torch.Tensor:
    return torch.cat([value.flatten(1) for value in update.values()], 1)


@given(seeds, st.floats(1e-3, 1e3), st.floats(1e-3, 1e3))
@settings(max_examples=25, deadline=None)
def test_clipping_keeps_the_direction_and_bounds_the_norm(seed: int, scale: float, norm: float) -> None:
    before = flat(updates(seed, scale))
    after = flat(UpdateClipping(norm=norm).protect(updates(seed, scale), random()))
    torch.testing.assert_close(after.norm(dim=1), before.norm(dim=1).clamp(max=norm), rtol=1e-5, atol=0)
    torch.testing.assert_close(after / after.norm(dim=1, keepdim=True), before / before.norm(dim=1, keepdim=True))


def test_noise_of_clients_is_on_a_clipped_update_and_has_the_deviation() -> None:
    huge = {"w": torch.full((2, 100, 100), 5.0)}
    sent = DPFedAvg(clip=2.0, noise=0.5).protect(huge, random())["w"]
    assert sent.std().item() == pytest.approx(1.0, rel=0.02)
    assert sent.mean().item() == pytest.approx(0.02, abs=0.03)
    laplace = LocalDP(epsilon=2.0, clip=1.0, mechanism="laplace")
    sent = laplace.protect(huge, random())["w"]
    assert sent.std().item() == pytest.approx(laplace.deviation, rel=0.03)
    assert laplace.channel().noise == pytest.approx(laplace.deviation)
    assert laplace.channel().order == 1


@given(st.floats(0.05, 50), st.floats(1e-9, 1e-2))
@settings(max_examples=15, deadline=None)
def test_the_noise_of_an_epsilon_keeps_it(epsilon: float, delta: float) -> None:
    multiplier = multiplier_for(epsilon, delta)
    assert gaussian_epsilon(multiplier, delta) <= epsilon * (1 + 1e-9)
    assert gaussian_epsilon(0.999 * multiplier, delta) > epsilon


def test_promises_grow_with_the_steps() -> None:
    for defense in (DPFedAvg(noise=2.0), LocalDP(epsilon=1.0), LocalDP(epsilon=1.0, mechanism="laplace")):
        one, many = (defense.privacy(1.0, steps) for steps in (1, 100))
        assert one is not None
        assert many is not None
        assert one.epsilon < many.epsilon
    assert LocalDP(epsilon=1.0, mechanism="laplace").privacy(1.0, 7).epsilon == pytest.approx(7.0)
    assert DPFedAvg(noise=0.0).privacy(1.0, 1).epsilon == float("inf")


@given(seeds, st.floats(0.01, 1.0))
@settings(max_examples=25, deadline=None)
def test_what_is_kept_is_as_it_was(seed: int, share: float) -> None:
    for defense in (RandomK(share=share), GradientPruning(share=1 - share if share < 1 else 0.0)):
        before, after = flat(updates(seed)), flat(defense.protect(updates(seed), random(seed)))
        kept = after != 0
        assert (after[kept] == before[kept]).all()
        assert (kept.sum(1) >= 1).all()
    one, other = (RandomK(share=0.5).protect(updates(), random(each))["0.weight"] != 0 for each in (1, 2))
    assert (one != other).any()


def test_pruning_leaves_the_largest_of_every_tensor() -> None:
    before = updates()
    for name, value in GradientPruning(share=0.8).protect(before, random()).items():
        for client in range(3):
            kept = value[client] != 0
            assert int(kept.sum()) == -(-kept.numel() // 5)
            assert before[name][client][kept].abs().min() >= before[name][client][~kept].abs().max()


@given(seeds, st.floats(1e-3, 1.0), st.booleans())
@settings(max_examples=25, deadline=None)
def test_rounded_values_are_near_and_on_the_grid(seed: int, step: float, dither: bool) -> None:
    before, after = flat(updates(seed)), flat(Rounding(step=step, dither=dither).protect(updates(seed), random(seed)))
    assert ((after - before).abs() <= step * (1.0 if dither else 0.5) + 1e-5).all()
    assert ((after / step - (after / step).round()).abs() < 1e-3).all()


def test_dithering_is_right_on_average() -> None:
    sent = Rounding(step=1.0, dither=True).protect({"w": torch.full((1, 200, 200), 0.3)}, random())["w"]
    assert sent.mean().item() == pytest.approx(0.3, abs=0.02)


def test_the_first_layer_is_withheld_and_the_rest_is_sent() -> None:
    before = updates()
    after = FirstLayerWithheld().protect(before, random())
    assert not after["0.weight"].any()
    assert not after["0.bias"].any()
    assert (after["2.weight"] == before["2.weight"]).all()


def client_rows(task: str = "binary") -> tuple[object, Parameters, torch.Tensor, torch.Tensor]:
    population = cases.population("mlp", task)
    learner, x, y = population.learner, population.x[:8].reshape(2, 4, -1), population.y[:8].reshape(2, 4)
    parameters = {name: value.expand(2, *value.shape) for name, value in learner.initial().items()}
    return learner, parameters, x, y


def test_soteria_silences_columns_of_the_last_layer_only() -> None:
    learner, parameters, x, y = client_rows()
    plain = learner.gradients(learner.initial(), x, y)  # type: ignore[attr-defined]
    sent = Soteria(share=0.5).gradients(learner)(parameters, x, y, random())  # type: ignore[arg-type]
    *others, last = [name for name in plain if name.endswith("weight")]
    for name in others:
        torch.testing.assert_close(sent[name], plain[name])
    silent = (sent[last] == 0).all(1).sum(1)
    assert (silent >= plain[last].shape[2] // 2).all()
    kept = sent[last] != 0
    torch.testing.assert_close(sent[last][kept], plain[last][kept])


def test_mixup_is_plain_where_everybody_is_the_same() -> None:
    learner, parameters, x, y = client_rows()
    same, label = x[:, :1].expand(-1, 4, -1).contiguous(), y[:, :1].expand(-1, 4).contiguous()
    mixed = Mixup().gradients(learner)  # type: ignore[arg-type]
    plain = learner.gradients(learner.initial(), same, label)  # type: ignore[attr-defined]
    for name, value in mixed(parameters, same, label, random()).items():
        torch.testing.assert_close(value, plain[name], rtol=1e-4, atol=1e-6)
    one, other = (mixed(parameters, x, y, random(seed)) for seed in (1, 2))
    assert any((one[name] != other[name]).any() for name in one)


@pytest.mark.parametrize("task", ["binary", "multiclass"])
def test_smoothed_labels_are_torchs_own(task: str) -> None:
    learner, parameters, x, y = client_rows(task)
    outputs = learner.outputs(learner.initial(), x[0])  # type: ignore[attr-defined]
    found = smoothed(learner, 0.2).loss_of_outputs(outputs, y[0])  # type: ignore[arg-type]
    if outputs.shape[1] > 1:
        expected = torch.nn.functional.cross_entropy(outputs, y[0].long(), label_smoothing=0.2)
    else:
        soft = y[0] * 0.8 + 0.1
        expected = torch.nn.functional.binary_cross_entropy_with_logits(outputs[:, 0], soft)
    torch.testing.assert_close(found, expected)
    sent = LabelSmoothing(share=0.0).gradients(learner)(parameters, x, y, random())  # type: ignore[arg-type]
    plain = learner.gradients(learner.initial(), x, y)  # type: ignore[attr-defined]
    for name, value in plain.items():
        torch.testing.assert_close(sent[name], value, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: UpdateClipping(norm=0), "norm is 0"),
        (lambda: DPFedAvg(clip=-1), "norm is -1"),
        (lambda: DPFedAvg(noise=-1), "multiplier is -1"),
        (lambda: DPFedAvg(delta=1), "Delta is 1"),
        (lambda: DPFedAvg(side="sever"), "Did you mean 'server'"),
        (lambda: LocalDP(epsilon=0), "Epsilon is 0"),
        (lambda: LocalDP(mechanism="laplase"), "laplace"),
        (lambda: LocalDP(delta=0), "Delta is 0"),
        (lambda: RandomK(share=0), "share of entries kept is 0"),
        (lambda: GradientPruning(share=1), "set to zero is 1"),
        (lambda: Rounding(step=0), "step of rounding is 0"),
        (lambda: Soteria(share=1), "representation is 1"),
        (lambda: Mixup(alpha=0), "alpha of mixup is 0"),
        (lambda: LabelSmoothing(share=1), "spread is 1"),
    ],
)
def test_bad_settings_are_told_in_a_sentence(make: Callable[[], Defense], words: str) -> None:
    with pytest.raises(InputError, match=words):
        make()


def test_what_does_not_go_with_a_model_is_told() -> None:
    regression = cases.population("mlp", "regression").learner
    with pytest.raises(InputError, match="needs a classification"):
        LabelSmoothing().gradients(regression)
