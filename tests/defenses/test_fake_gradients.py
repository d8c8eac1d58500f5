"""Fake gradients: what is kept of the true one, in each of the three readings of Algorithm 5."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from seepage._core import InputError
from seepage.defenses import fake_gradients as module
from seepage.defenses.fake_gradients import FakeGradients
from seepage.models import Parameters

SIZE = 0.02  # of usual gradients


def random(seed: int = 1) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def gradient() -> Parameters:
    draw = random(7)
    return {"weight": SIZE * torch.randn(40, 30, generator=draw), "bias": SIZE * torch.randn(40, generator=draw)}


def sent_by(defense: FakeGradients, true: dict[str, Tensor], generator: torch.Generator) -> dict[str, Tensor]:
    """What one client sends."""
    sent = defense.protect({name: value[None] for name, value in true.items()}, generator)
    return {name: value[0] for name, value in sent.items()}


def by_size(value: Tensor) -> Tensor:
    return value.flatten().abs().argsort(descending=True, stable=True)


def test_signs_and_ranks_are_kept_and_sizes_are_not() -> None:
    true = gradient()
    sent = sent_by(FakeGradients(), true, random())
    for name, value in true.items():
        assert sent[name].shape == value.shape
        assert torch.equal(sent[name].sign(), value.sign())
        assert torch.equal(by_size(sent[name]), by_size(value))
    assert sent["weight"].square().mean().item() == pytest.approx(1.1, rel=0.15)
    other = sent_by(FakeGradients(deviation=0.1), true, random())["weight"]
    assert other.square().mean().item() == pytest.approx(0.01, rel=0.15)


def test_numbers_do_not_depend_on_the_true_sizes() -> None:
    """Gradients with the same signs and ranks are hardly told apart: only the choice of the nearest differs."""
    true = {"w": gradient()["weight"]}
    bent = {"w": true["w"].sign() * true["w"].abs().sqrt()}
    one, other = (sent_by(FakeGradients(drawn=1), each, random())["w"] for each in (true, bent))
    assert torch.equal(one, other)


def test_clipped_entries_are_the_true_ones_but_for_a_few() -> None:
    true = gradient()["weight"]
    sent = sent_by(FakeGradients(reading="clipped"), {"w": true}, random())["w"]
    assert (sent.abs() <= true.abs()).all()
    assert (sent * true >= 0).all()
    assert (sent == true).float().mean() > 0.95


def test_as_printed_the_smaller_half_becomes_negative_and_large() -> None:
    true = gradient()["weight"]
    sent = sent_by(FakeGradients(reading="printed"), {"w": true}, random())["w"].flatten()[by_size(true)]
    half = true.numel() // 2
    larger, smaller = sent[: half - 50], sent[half + 50 :]
    assert torch.equal(larger, true.flatten()[by_size(true)][: half - 50])
    assert (smaller < 0).all()
    assert all(a >= b for a, b in pairwise(smaller.tolist()))  # the smallest true entry gets the largest
    assert smaller[-1] < -50 * SIZE


@pytest.mark.parametrize("reading", ["placed", "clipped", "printed"])
def test_the_same_numbers_give_the_same_gradient(reading: module.Reading) -> None:
    defense = FakeGradients(reading=reading, drawn=5)
    one, same, other = (sent_by(defense, gradient(), random(seed)) for seed in (1, 1, 2))
    assert all(torch.equal(one[name], same[name]) for name in one)
    assert any(not torch.equal(one[name], other[name]) for name in one)


@pytest.mark.parametrize("reading", ["placed", "clipped", "printed"])
@pytest.mark.parametrize("value", [torch.zeros(3, 2), torch.ones(1), torch.zeros(()), torch.rand(4).double()])
def test_any_tensor_is_one_of_its_kind(reading: module.Reading, value: Tensor) -> None:
    sent = sent_by(FakeGradients(reading=reading), {"w": value}, random())["w"]
    assert (sent.shape, sent.dtype) == (value.shape, value.dtype)
    assert sent.isfinite().all()


def distance(defense: FakeGradients, seed: int) -> float:
    true = gradient()["bias"]
    return float((sent_by(defense, {"b": true}, random(seed))["b"] - true).norm())


def test_of_more_candidates_the_nearest_is_nearer() -> None:
    few, many = ([distance(FakeGradients(drawn=drawn), seed) for seed in range(10)] for drawn in (1, 1000))
    assert max(many) < min(few)


def test_candidates_are_drawn_again_until_one_is_near() -> None:
    plain = FakeGradients(drawn=10)
    far = FakeGradients(drawn=10, threshold=1e9)
    near = FakeGradients(drawn=10, threshold=1e-9, tries=100)
    halfway = FakeGradients(drawn=10, threshold=sum(distance(near, seed) for seed in range(5)) / 5 * 1.2, tries=1000)
    for seed in range(5):
        assert distance(far, seed) == distance(plain, seed)
        assert distance(near, seed) < distance(plain, seed)  # never reached: the nearest of all
        assert distance(halfway, seed) <= halfway.threshold


@given(st.lists(st.floats(0, 2.0**100, width=32) | st.sampled_from([0.0, 2.0**-140, 0.5]), min_size=1, max_size=60))
def test_sizes_are_ranked_as_by_a_stable_sort(sizes: list[float]) -> None:
    for dtype in (torch.float32, torch.float64):
        numbers = torch.tensor(sizes, dtype=dtype)
        assert torch.equal(module._largest_first(numbers), numbers.argsort(descending=True, stable=True))


def test_long_tensors_have_fewer_candidates(monkeypatch: pytest.MonkeyPatch) -> None:
    true = gradient()
    single = sent_by(FakeGradients(drawn=1), true, random())
    monkeypatch.setattr(module, "BUDGET", 10)
    limited = sent_by(FakeGradients(drawn=1000), true, random())
    assert all(torch.equal(single[name], limited[name]) for name in true)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: FakeGradients(deviation=0), "above 0"),
        (lambda: FakeGradients(deviation=float("nan")), "above 0"),
        (lambda: FakeGradients(drawn=0), "at least 1"),
        (lambda: FakeGradients(tries=0), "at least 1"),
        (lambda: FakeGradients(threshold=0), "above 0"),
        (lambda: FakeGradients(reading="place"), "placed"),
    ],
)
def test_settings_out_of_range_are_one_sentence(make: Callable[[], FakeGradients], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()
