"""Defences on updates: what is sent instead, for all clients at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from seepage._core import InputError, Streams
from seepage.defenses import DPSGD, Defense, GaussianNoise, Quantisation, TopK, Undefended
from seepage.federation import simulate
from seepage.models import Parameters
from seepage.observation import Knowledge
from tests import cases

CLIENTS = 3


def random(seed: int = 1) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def updates() -> Parameters:
    draw = random(7)
    return {"weight": torch.randn(CLIENTS, 5, 4, generator=draw), "bias": torch.randn(CLIENTS, 5, generator=draw)}


def test_noise_has_the_deviation_and_is_fresh_for_every_client() -> None:
    zero = {"weight": torch.zeros(CLIENTS, 100, 100)}
    sent = GaussianNoise(deviation=0.1).protect(zero, random())["weight"]
    assert sent.std().item() == pytest.approx(0.1, rel=0.02)
    assert abs(sent.mean().item()) < 0.002
    assert (sent[0] != sent[1]).all()
    assert (sent == GaussianNoise(deviation=0.1).protect(zero, random())["weight"]).all()
    assert (sent != GaussianNoise(deviation=0.1).protect(zero, random(2))["weight"]).any()


def test_top_k_keeps_the_largest_entries_of_the_whole_update() -> None:
    before = updates()
    after = TopK(share=0.2).protect(before, random())
    for client in range(CLIENTS):
        old = torch.cat([value[client].flatten() for value in before.values()])
        new = torch.cat([value[client].flatten() for value in after.values()])
        kept = new != 0
        assert kept.sum() == 5  # a fifth of 25
        assert (new[kept] == old[kept]).all()
        assert old[kept].abs().min() >= old[~kept].abs().max()


@pytest.mark.parametrize("share", [1e-9, 1.0])
def test_top_k_keeps_at_least_one_and_at_most_all(share: float) -> None:
    after = TopK(share=share).protect(updates(), random())
    entries = sum(int((value[0] != 0).sum()) for value in after.values())
    assert entries == (1 if share < 1 else 25)


@pytest.mark.parametrize("bits", [2, 4, 8])
def test_a_grid_has_few_values_and_is_near(bits: int) -> None:
    before = updates()
    after = Quantisation(bits=bits).protect(before, random())
    for name, value in after.items():
        for client in range(CLIENTS):
            step = before[name][client].abs().max() / (2 ** (bits - 1) - 1)
            assert len(value[client].unique()) <= 2**bits - 1
            assert (value[client] - before[name][client]).abs().max() <= step / 2 + 1e-6


def test_one_bit_is_the_sign_with_the_mean_magnitude() -> None:
    before = updates()
    after = Quantisation(bits=1).protect(before, random())
    for name, value in after.items():
        for client in range(CLIENTS):
            assert (value[client].sign() == before[name][client].sign()).all()
            magnitude = before[name][client].abs().mean().expand_as(value[client])
            torch.testing.assert_close(value[client].abs(), magnitude)


@pytest.mark.parametrize("name", [name for name in cases.DEFENSES if name != "none"])
def test_a_zero_update_gives_finite_numbers(name: str) -> None:
    sent = cases.DEFENSES[name].protect({"w": torch.zeros(2, 3)}, random())
    assert sent["w"].isfinite().all()


@pytest.mark.parametrize("name", ["top_k", "quantisation", "sign"])
def test_all_clients_at_once_equal_one_client(name: str) -> None:
    defense = cases.DEFENSES[name]
    together = defense.protect(updates(), random())
    for client in range(CLIENTS):
        alone = defense.protect({key: value[client : client + 1] for key, value in updates().items()}, random())
        assert all((together[key][client] == alone[key][0]).all() for key in alone)


@pytest.mark.parametrize("name", cases.DEFENSES)
@pytest.mark.parametrize("protocol", ["fedsgd", "fedavg", "fedsgd_fixed_batch"])
def test_every_defence_goes_through_every_protocol(name: str, protocol: str) -> None:
    """The same seed gives the same trace, the server sees defended updates, and it averages those."""
    population = cases.population("mlp")

    def traced(defense: Defense, seed: int = 5) -> Any:
        return simulate(cases.PROTOCOLS[protocol], population, Knowledge(), Streams(seed), defense=defense)

    one, other, plain = traced(cases.DEFENSES[name]), traced(cases.DEFENSES[name]), traced(Undefended())
    for a, b in zip(one.points, other.points, strict=True):
        for left, right in zip(a.observations, b.observations, strict=True):
            assert all((left.update[key] == right.update[key]).all() for key in left.update)
            assert left.finite
    if name == "none":
        return
    sent, undefended = one.points[0].observations[0], plain.points[0].observations[0]
    if sent.parameters.keys() != undefended.parameters.keys():  # another model
        return
    assert all((sent.parameters[key] == undefended.parameters[key]).all() for key in sent.parameters)
    assert any((sent.update[key] != undefended.update[key]).any() for key in sent.update)
    last, without = one.points[-1].observations[0], plain.points[-1].observations[0]
    assert any((last.parameters[key] != without.parameters[key]).any() for key in last.parameters)


def test_being_attacked_does_not_change_training() -> None:
    """The fixed batch is defended with random numbers of its own."""
    population = cases.population("mlp")
    runs = [
        simulate(cases.PROTOCOLS[name], population, Knowledge(), Streams(5), defense=GaussianNoise(deviation=0.1))
        for name in ("fedsgd", "fedsgd_fixed_batch")
    ]
    assert runs[0].points[-1].validation == runs[1].points[-1].validation


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: GaussianNoise(deviation=-1), "0 or above"),
        (lambda: GaussianNoise(deviation=float("nan")), "0 or above"),
        (lambda: TopK(share=0), "above 0 and at most 1"),
        (lambda: TopK(share=1.5), "above 0 and at most 1"),
        (lambda: Quantisation(bits=0), "1 to 16"),
        (lambda: Quantisation(bits=64), "1 to 16"),
        (lambda: DPSGD(clip=0), "above 0"),
        (lambda: DPSGD(noise=-0.5), "0 or above"),
        (lambda: DPSGD(delta=1), "between 0 and 1"),
    ],
)
def test_settings_out_of_range_are_one_sentence(make: Callable[[], Defense], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()
